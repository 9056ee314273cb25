// The pages that decide: /v1 and /json.

#ifndef LIMITREE_SERVER_WEB_DECISION_PAGES_HPP
#define LIMITREE_SERVER_WEB_DECISION_PAGES_HPP

#include <span>
#include <string>
#include <utility>

#include "decisions/decider.hpp"
#include "http/handler.hpp"
#include "limitree.h"
#include "web/requests.hpp"

namespace limitree::server {

// /v1: the limit tree over HTTP.  Belongs to the thread of one loop, as /json
// does.
class LimiterApi final : public LimiterSink {
 public:
  // `style` is that of the header fields, one of limitree_http_style_at().
  // `decider` outlives this.
  LimiterApi(Decider* decider, std::string style)
      : decider_(decider), style_(std::move(style)) {}

  void add_to(HandlerTable* handlers);

  void decided(ClientRequest* request, const limitree_decision& decision,
               std::span<const limitree_level> levels,
               bool omits_levels) const override;
  void has_reset(ClientRequest* request) const override;
  void failed(ClientRequest* request, limitree_status status,
              const std::string& message) const override;

 private:
  void on_request(const LimiterOperation& operation, Exchange* exchange);

  Decider* decider_;
  const std::string style_;
  PathRequest request_;
};

// /json: Envoy's rate limit service, as envoyproxy/ratelimit has it over HTTP.
class EnvoyPage final : public EnvoySink {
 public:
  // All arguments outlive this.
  EnvoyPage(Decider* decider, const AnswerSettings* settings)
      : decider_(decider), settings_(settings) {}

  void add_to(HandlerTable* handlers) {
    handlers->add("/json", HttpMethods::kAny,
                  [this](Exchange* exchange) { on_request(exchange); });
  }

  void on_request(Exchange* exchange);

  void answered(
      ClientRequest* request, const limitree_envoy_response& response,
      std::span<const limitree_descriptor_status> statuses) const override;
  void failed(ClientRequest* request, limitree_status status,
              const std::string& message) const override;

 private:
  Decider* decider_;
  const AnswerSettings* settings_;
  EnvoyJson json_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_WEB_DECISION_PAGES_HPP
