#include "services/limiter_service.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "limitree.hpp"
#include "services/decision.hpp"
#include "services/messages.hpp"

namespace limitree::server {

namespace {

// More than the limits of any path have, in most trees.
constexpr std::size_t kLevelsPerSegment = 4;

// Answers the call, unless it is over.
void answer(Call* call, const limitree_decision& decision,
            std::span<const limitree_level> levels) {
  write_decision(decision, levels, call->begin_message());
  call->end_message();
  call->finish();
}

std::size_t count_of(const limitree_decision& decision, std::size_t room) {
  return std::min(room, static_cast<std::size_t>(decision.level_count));
}

// A decision that waits for the store.
class Waiting final : public StoreRequest {
 public:
  Waiting(StoreLoop* loop, Call* call, std::size_t level_capacity)
      : StoreRequest(loop, call), levels_(level_capacity) {}

  std::span<limitree_level> levels() { return levels_.span(); }

 private:
  void answer(Call* call, const limitree_completion& completion) override {
    const std::size_t count = count_of(completion.decision, levels().size());
    server::answer(call, completion.decision, levels().first(count));
  }

  BlockArray<limitree_level> levels_;
};

// A reset that waits for the store.
class WaitingReset final : public StoreRequest {
 public:
  using StoreRequest::StoreRequest;

 private:
  void answer(Call* call, const limitree_completion& /*completion*/) override {
    call->begin_message();
    call->end_message();
    call->finish();
  }
};

}  // namespace

LimiterService::LimiterService(StoreLoop* store_loop, limitree_limiter* limiter)
    : limiter_(limiter),
      store_loop_(store_loop),
      levels_(std::make_unique_for_overwrite<limitree_level[]>(
          LIMITREE_MAX_LEVELS)) {}

void LimiterService::add_to(MethodTable* methods) {
  const std::string service = "/limitree.v1.Limiter/";
  methods->add(service + "Authorize", &authorize_);
  methods->add(service + "Peek", &peek_);
  methods->add(service + "Spend", &spend_);
  methods->add(service + "Refund", &refund_);
  methods->add(service + "Reset", &reset_);
}

void LimiterService::Decide::on_message(Call* call, std::string_view message) {
  if (!read_or_refuse(call, [&] { service_->request_.read(message); })) return;
  if (limitree_limiter_is_remote(service_->limiter_) != 0) {
    service_->decide_later(call, operation_);
  } else {
    service_->decide_now(call, operation_);
  }
}

void LimiterService::decide_now(Call* call, std::int32_t operation) {
  const std::size_t room = request_.omits_levels() ? 0 : LIMITREE_MAX_LEVELS;
  limitree_decision decision;
  limitree_error* error = nullptr;
  const limitree_status status = limitree_decide_parts(
      limiter_, operation, request_.paths().data(), request_.parts().data(),
      request_.paths().size(), room == 0 ? nullptr : levels_.get(), room,
      &decision, &error);
  const ErrorHandle owner(error);
  if (status < 0) {
    call->finish(status_of(status, error));
  } else {
    answer(call, decision, {levels_.get(), count_of(decision, room)});
  }
}

void LimiterService::decide_later(Call* call, std::int32_t operation) {
  if (store_loop_->refuses(call)) return;
  const std::size_t room =
      request_.omits_levels()
          ? 0
          : std::min<std::size_t>(
                LIMITREE_MAX_LEVELS,
                (request_.segment_count() + 1) * kLevelsPerSegment);
  auto waiting = std::make_unique<Waiting>(store_loop_, call, room);
  limitree_completion done{};
  limitree_error* error = nullptr;
  done.status = limitree_decide_parts_async(
      limiter_, operation, request_.paths().data(), request_.parts().data(),
      request_.paths().size(), static_cast<PendingRequest*>(waiting.get()),
      waiting->levels().data(), room, &done.decision, &error);
  const ErrorHandle owner(error);
  done.error = error;
  if (done.status == LIMITREE_PENDING) {
    store_loop_->started(std::move(waiting));
  } else {
    waiting->complete(done);
  }
}

void LimiterService::Reset::on_message(Call* call, std::string_view message) {
  ResetRequest request;
  if (!read_or_refuse(call, [&] { request = read_reset(message); })) return;
  service_->reset(call, request);
}

// In memory it is done at once.
void LimiterService::reset(Call* call, const ResetRequest& request) {
  if (store_loop_->refuses(call)) return;
  const std::vector<limitree_str> path = to_path(request.segments);
  auto waiting = std::make_unique<WaitingReset>(store_loop_, call);
  limitree_completion done{};
  limitree_error* error = nullptr;
  done.status = limitree_reset_async(
      limiter_, path.data(), path.size(), request.leaf_only ? 1 : 0,
      static_cast<PendingRequest*>(waiting.get()), &error);
  const ErrorHandle owner(error);
  done.error = error;
  if (done.status == LIMITREE_PENDING) {
    store_loop_->started(std::move(waiting));
  } else {
    waiting->complete(done);
  }
}

}  // namespace limitree::server
