#include "services/limiter_service.hpp"

#include "grpc/call.hpp"
#include "services/decision.hpp"
#include "services/messages.hpp"

namespace limitree::server {

void LimiterService::add_to(MethodTable* methods) {
  const std::string service = "/limitree.v1.Limiter/";
  methods->add(service + "Authorize", &authorize_);
  methods->add(service + "Peek", &peek_);
  methods->add(service + "Spend", &spend_);
  methods->add(service + "Refund", &refund_);
  methods->add(service + "Reset", &reset_);
}

void LimiterService::Decide::on_message(Call* call, std::string_view message) {
  DecideRequest& request = service_->request_;
  if (!read_or_refuse(call, [&] { request.read(message); })) return;
  service_->decider_->decide(operation_, request, call, service_);
}

void LimiterService::Reset::on_message(Call* call, std::string_view message) {
  DecideRequest& request = service_->request_;
  if (!read_or_refuse(call, [&] { request.read_reset(message); })) return;
  service_->decider_->reset(request, call, service_);
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
