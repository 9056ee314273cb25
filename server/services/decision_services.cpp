#include "services/decision_services.hpp"

#include "grpc/call.hpp"
#include "services/answers.hpp"

namespace limitree::server {

void LimiterService::add_to(MethodTable* methods) {
  for (const LimiterOperation& one : kLimiterOperations) {
    methods->add(std::string("/limitree.v1.Limiter/") + one.name,
                 {MethodKind::kUnary,
                  [this, &one](Call* call, std::string_view message) {
                    on_message(one, call, message);
                  },
                  one.needs_token});
  }
}

void LimiterService::on_message(const LimiterOperation& operation, Call* call,
                                std::string_view message) {
  if (operation.number == LimiterOperation::kReset) {
    request_.read_reset(message);
  } else {
    request_.read(message);
  }
  decider_->decide(operation.number, request_, call, this);
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

// ---- Envoy ------------------------------------------------------------------

void EnvoyService::add_to(MethodTable* methods) {
  methods->add(
      "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
      {MethodKind::kUnary, [this](Call* call, std::string_view message) {
         on_message(call, message);
       }});
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
