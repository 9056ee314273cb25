#include "services/envoy_service.hpp"

#include <memory>
#include <span>
#include <utility>

#include "limitree.hpp"
#include "services/decision.hpp"
#include "services/envoy_response.hpp"
#include "services/messages.hpp"

namespace limitree::server {

namespace {

void answer_call(Call* call, const limitree_envoy_response& response,
                 std::span<const limitree_descriptor_status> statuses,
                 const AnswerSettings& settings) {
  write_envoy(response, statuses, settings, call->begin_message());
  call->end_message();
  call->finish();
}

// A request that waits for the store.
class WaitingEnvoyRequest final : public StoreRequest {
 public:
  WaitingEnvoyRequest(StoreLoop* loop, Call* call, std::size_t descriptors,
                      const AnswerSettings* settings)
      : StoreRequest(loop, call), statuses_(descriptors), settings_(settings) {}
  ~WaitingEnvoyRequest() override { limitree_text_free(response_.metadata); }

  std::span<limitree_descriptor_status> statuses() { return statuses_.span(); }
  limitree_envoy_response* response() { return &response_; }

 private:
  void answer(Call* call, const limitree_completion& /*completion*/) override {
    answer_call(call, response_, statuses(), *settings_);
  }

  BlockArray<limitree_descriptor_status> statuses_;
  limitree_envoy_response response_{};
  const AnswerSettings* settings_;
};

}  // namespace

void EnvoyService::add_to(MethodTable* methods) {
  methods->add("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
               this);
}

void EnvoyService::on_message(Call* call, std::string_view message) {
  if (!read_or_refuse(call, [&] { request_.read(message); })) return;
  if (request_.is_too_large()) {
    call->finish({GrpcCode::kInvalidArgument,
                  "the request has more than 4096 descriptors, or more than "
                  "65536 entries"});
    return;
  }
  if (descriptors_->are_missing()) {
    descriptors_->count_refusal();
    call->finish({GrpcCode::kUnavailable, DescriptorsState::kMissing});
    return;
  }
  limitree_envoy_request request = request_.get();
  if (settings_->dynamic_metadata) request.flags |= LIMITREE_WANTS_METADATA;
  if (limitree_limiter_is_remote(limiter_) != 0) {
    ask_later(call, request);
  } else {
    ask_now(call, request);
  }
}

void EnvoyService::ask_now(Call* call, const limitree_envoy_request& request) {
  start(&statuses_);
  statuses_.resize(request.descriptor_count);
  limitree_envoy_response response{};
  limitree_error* error = nullptr;
  const limitree_status status =
      limitree_should_rate_limit(limiter_, &request, statuses_.data(),
                                 statuses_.size(), &response, &error);
  const ErrorHandle error_owner(error);
  const TextHandle metadata_owner(response.metadata);
  if (status < 0) {
    call->finish(status_of(status, error));
  } else {
    answer_call(call, response, statuses_, *settings_);
  }
}

void EnvoyService::ask_later(Call* call,
                             const limitree_envoy_request& request) {
  if (store_loop_->refuses(call)) return;
  auto waiting = std::make_unique<WaitingEnvoyRequest>(
      store_loop_, call, request.descriptor_count, settings_);
  limitree_completion done{};
  limitree_error* error = nullptr;
  done.status = limitree_should_rate_limit_async(
      limiter_, &request, static_cast<PendingRequest*>(waiting.get()),
      waiting->statuses().data(), waiting->statuses().size(),
      waiting->response(), &error);
  const ErrorHandle owner(error);
  done.error = error;
  if (done.status == LIMITREE_PENDING) {
    store_loop_->started(std::move(waiting));
  } else {
    waiting->complete(done);
  }
}

}  // namespace limitree::server
