// The pages that decide: /v1 and /json.

#pragma once

#include <string>

#include "decisions/decider.hpp"
#include "http/handler.hpp"
#include "net/access.hpp"
#include "web/requests.hpp"

namespace limitree::server {

// /v1: the limit tree over HTTP; /json: Envoy's rate limit service, as
// envoyproxy/ratelimit has it over HTTP; and /v1/descriptors: what else can be
// asked about its limits.  Belongs to the thread of one loop.
class DecisionPages final : public AnswerSink {
 public:
  // `style` is that of the header fields of /v1, one of
  // limitree_http_style_at().  All arguments outlive this.
  DecisionPages(Decider* decider, const AnswerSettings* settings,
                const std::string* style)
      : decider_(decider), settings_(settings), style_(*style) {}

  void add_to(HandlerTable* handlers);
  // Only what the page /ui asks: to look at buckets, and to reset them, for
  // which everybody needs the token.
  void add_looks_to(HandlerTable* handlers, const AdminToken* token);

  // Takes a request of /json.
  void ask(Exchange* exchange);

  void answer(ClientRequest* request,
              const LimiterAnswer& answer) const override;
  void answer(ClientRequest* request, const EnvoyAnswer& answer) const override;

 private:
  void decide(const LimiterOperation& operation, Exchange* exchange);
  void settle(const HoldOperation& operation, Exchange* exchange);
  void ask_about(const DescriptorOperation& operation, Exchange* exchange);
  // Whether the request of Envoy can be taken; answers if not.
  bool read_envoy(Exchange* exchange);

  Decider* decider_;
  const AnswerSettings* settings_;
  const std::string& style_;
  PathRequest path_request_;
  ReceiptJson receipt_request_;
  EnvoyJson envoy_request_;
};

}  // namespace limitree::server
