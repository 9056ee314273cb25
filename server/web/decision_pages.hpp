// The pages that decide, /v1 and /json, and /healthcheck.

#ifndef LIMITREE_SERVER_WEB_DECISION_PAGES_HPP
#define LIMITREE_SERVER_WEB_DECISION_PAGES_HPP

#include <list>
#include <span>
#include <string>
#include <utility>

#include "decisions/decider.hpp"
#include "http/handler.hpp"
#include "limitree.h"
#include "web/requests.hpp"

namespace limitree::server {

// /v1: the limit tree over HTTP.  Belongs to the thread of one loop, as the
// others do.
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
  class Operation final : public Handler {
   public:
    Operation(LimiterApi* api, const LimiterOperation& operation)
        : api_(api), operation_(operation) {}
    void on_request(Exchange* exchange) override;

   private:
    LimiterApi* api_;
    const LimiterOperation& operation_;
  };

  Decider* decider_;
  const std::string style_;
  PathRequest request_;
  std::list<Operation> operations_;
};

// /json: Envoy's rate limit service, as envoyproxy/ratelimit has it over HTTP.
class EnvoyPage final : public Handler, public EnvoySink {
 public:
  // What is given outlives this.
  EnvoyPage(Decider* decider, const AnswerSettings* settings)
      : decider_(decider), settings_(settings) {}

  void add_to(HandlerTable* handlers) {
    handlers->add("/json", HttpMethods::kAny, this);
  }

  void on_request(Exchange* exchange) override;

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

// /healthcheck: 200 and "OK", or 500 without a body: as envoyproxy/ratelimit.
class HealthPage final : public Handler {
 public:
  void add_to(HandlerTable* handlers) {
    handlers->add("/healthcheck", HttpMethods::kGet, this);
  }

  void set_serving(bool serving) { serving_ = serving; }

  void on_request(Exchange* exchange) override {
    exchange->answer()->status = serving_ ? 200 : 500;
    if (serving_) exchange->answer()->body = "OK";
    exchange->finish();
  }

 private:
  bool serving_ = true;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_WEB_DECISION_PAGES_HPP
