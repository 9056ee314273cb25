// /json: Envoy's rate limit service, as envoyproxy/ratelimit has it over HTTP.

#ifndef LIMITREE_SERVER_WEB_ENVOY_PAGE_HPP
#define LIMITREE_SERVER_WEB_ENVOY_PAGE_HPP

#include <span>
#include <string>

#include "decisions/answer_settings.hpp"
#include "decisions/decider.hpp"
#include "http/handler.hpp"
#include "limitree.h"
#include "web/envoy_request.hpp"

namespace limitree::server {

// Belongs to the thread of one loop.
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

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_WEB_ENVOY_PAGE_HPP
