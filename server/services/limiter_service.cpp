#include "services/limiter_service.hpp"

#include "grpc/call.hpp"
#include "services/decision.hpp"

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

}  // namespace limitree::server
