// The services that decide: limitree.v1.Limiter and Envoy's.

#ifndef LIMITREE_SERVER_SERVICES_DECISION_SERVICES_HPP
#define LIMITREE_SERVER_SERVICES_DECISION_SERVICES_HPP

#include <span>
#include <string>
#include <string_view>

#include "decisions/decider.hpp"
#include "grpc/method.hpp"
#include "limitree.h"
#include "services/requests.hpp"

namespace limitree::server {

// limitree.v1.Limiter: the tree, for languages without a binding.
class LimiterService final : public LimiterSink {
 public:
  // `decider` outlives the service and its calls.
  explicit LimiterService(Decider* decider) : decider_(decider) {}

  void add_to(MethodTable* methods);

  void decided(ClientRequest* request, const limitree_decision& decision,
               std::span<const limitree_level> levels,
               bool omits_levels) const override;
  void has_reset(ClientRequest* request) const override;
  void failed(ClientRequest* request, limitree_status status,
              const std::string& message) const override;

 private:
  void on_message(const LimiterOperation& operation, Call* call,
                  std::string_view message);

  Decider* decider_;
  DecideRequest request_;
};

// envoy.service.ratelimit.v3.RateLimitService.
class EnvoyService final : public EnvoySink {
 public:
  // All arguments outlive the service and its calls.
  EnvoyService(Decider* decider, const AnswerSettings* settings)
      : decider_(decider), settings_(settings) {}

  void add_to(MethodTable* methods);

  void answered(
      ClientRequest* request, const limitree_envoy_response& response,
      std::span<const limitree_descriptor_status> statuses) const override;
  void failed(ClientRequest* request, limitree_status status,
              const std::string& message) const override;

 private:
  void on_message(Call* call, std::string_view message);

  Decider* decider_;
  const AnswerSettings* settings_;
  EnvoyRequest request_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_DECISION_SERVICES_HPP
