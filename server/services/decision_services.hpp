// The services that decide: limitree.v1.Limiter and Descriptors, and Envoy's.

#pragma once

#include <string_view>

#include "decisions/decider.hpp"
#include "grpc/method.hpp"
#include "services/requests.hpp"

namespace limitree::server {

// limitree.v1.Limiter: the tree, for languages without a binding;
// envoy.service.ratelimit.v3.RateLimitService; and limitree.v1.Descriptors:
// what else can be asked about its limits.
class DecisionServices final : public AnswerSink {
 public:
  // All arguments outlive the services and their calls.
  DecisionServices(Decider* decider, const AnswerSettings* settings)
      : decider_(decider), settings_(settings) {}

  void add_to(MethodTable* methods);

  void answer(ClientRequest* request,
              const LimiterAnswer& answer) const override;
  void answer(ClientRequest* request, const EnvoyAnswer& answer) const override;

 private:
  void decide(const LimiterOperation& operation, Call* call,
              std::string_view message);
  // Whether the costs of limiter_request_ can be taken; answers if not.
  bool has_few_costs(Call* call) const;
  void settle(const HoldOperation& operation, Call* call,
              std::string_view message);
  void ask(Call* call, std::string_view message);
  void ask_about(const DescriptorOperation& operation, Call* call,
                 std::string_view message);
  // Whether the request of Envoy can be taken; answers if not.
  bool read_envoy(Call* call, std::string_view message);

  Decider* decider_;
  const AnswerSettings* settings_;
  DecideRequest limiter_request_;
  ReceiptMessage receipt_request_;
  EnvoyRequest envoy_request_;
};

}  // namespace limitree::server
