#include "services/decision_services.hpp"

#include "grpc/call.hpp"
#include "services/answers.hpp"

namespace limitree::server {

void LimiterService::add_to(MethodTable* methods) {
  for (const LimiterOperation& one : kLimiterOperations) {
    methods_.emplace_back(this, one);
    methods->add(std::string("/limitree.v1.Limiter/") + one.name,
                 &methods_.back());
  }
}

void LimiterService::Operation::on_message(Call* call,
                                           std::string_view message) {
  DecideRequest& request = service_->request_;
  if (operation_.number == LimiterOperation::kReset) {
    request.read_reset(message);
  } else {
    request.read(message);
  }
  service_->decider_->decide(operation_.number, request, call, service_);
}

void LimiterService::decided(ClientRequest* request,
                             const limitree_decision& decision,
                             std::span<const limitree_level> levels,
                             bool /*omits_levels*/) const {
  Call* const call = static_cast<Call*>(request);
  write_decision(decision, levels, call->begin_message());
  call->end_message();
  call->finish();
}

void LimiterService::has_reset(ClientRequest* request) const {
  Call* const call = static_cast<Call*>(request);
  call->begin_message();
  call->end_message();
  call->finish();
}

void LimiterService::failed(ClientRequest* request, limitree_status status,
                            const std::string& message) const {
  static_cast<Call*>(request)->finish({code_of(status), message});
}

// ---- Envoy
// --------------------------------------------------------------------

void EnvoyService::add_to(MethodTable* methods) {
  methods->add("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
               this);
}

void EnvoyService::on_message(Call* call, std::string_view message) {
  request_.read(message);
  if (request_.is_too_large()) {
    call->finish({GrpcCode::kInvalidArgument,
                  "the request has more than 4096 descriptors, or more than "
                  "65536 entries"});
    return;
  }
  decider_->ask(request_.get(), call, this);
}

void EnvoyService::answered(
    ClientRequest* request, const limitree_envoy_response& response,
    std::span<const limitree_descriptor_status> statuses) const {
  Call* const call = static_cast<Call*>(request);
  write_envoy(response, statuses, *settings_, call->begin_message());
  call->end_message();
  call->finish();
}

void EnvoyService::failed(ClientRequest* request, limitree_status status,
                          const std::string& message) const {
  static_cast<Call*>(request)->finish({code_of(status), message});
}

}  // namespace limitree::server
