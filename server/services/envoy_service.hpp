// envoy.service.ratelimit.v3.RateLimitService: what Envoy asks.

#ifndef LIMITREE_SERVER_SERVICES_ENVOY_SERVICE_HPP
#define LIMITREE_SERVER_SERVICES_ENVOY_SERVICE_HPP

#include <span>
#include <string>
#include <string_view>

#include "decisions/answer_settings.hpp"
#include "decisions/decider.hpp"
#include "grpc/method.hpp"
#include "limitree.h"
#include "services/envoy_request.hpp"

namespace limitree::server {

class EnvoyService final : public Method, public EnvoySink {
 public:
  // What is given outlives the service and its calls.
  EnvoyService(Decider* decider, const AnswerSettings* settings)
      : Method(MethodKind::kUnary), decider_(decider), settings_(settings) {}

  void add_to(MethodTable* methods);
  void on_message(Call* call, std::string_view message) override;

  void answered(
      ClientRequest* request, const limitree_envoy_response& response,
      std::span<const limitree_descriptor_status> statuses) const override;
  void failed(ClientRequest* request, limitree_status status,
              const std::string& message) const override;

 private:
  Decider* decider_;
  const AnswerSettings* settings_;
  EnvoyRequest request_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_ENVOY_SERVICE_HPP
