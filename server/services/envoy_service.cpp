#include "services/envoy_service.hpp"

#include "grpc/call.hpp"
#include "services/decision.hpp"
#include "services/envoy_response.hpp"

namespace limitree::server {

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
