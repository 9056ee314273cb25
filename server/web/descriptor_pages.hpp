// /v1/descriptors: what can be asked about the limits of Envoy, besides /json.

#pragma once

#include "decisions/decider.hpp"
#include "http/handler.hpp"
#include "web/requests.hpp"

namespace limitree::server {

// Belongs to the thread of one loop.
class DescriptorPages final : public AnswerSink {
 public:
  // Both outlive this.
  DescriptorPages(Decider* decider, const AnswerSettings* settings)
      : decider_(decider), settings_(settings) {}

  void add_to(HandlerTable* handlers);

  void answer(ClientRequest* request,
              const LimiterAnswer& answer) const override;
  void answer(ClientRequest* request, const EnvoyAnswer& answer) const override;

 private:
  void ask(const DescriptorOperation& operation, Exchange* exchange);

  Decider* decider_;
  const AnswerSettings* settings_;
  EnvoyJson request_;
};

}  // namespace limitree::server
