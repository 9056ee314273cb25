// /json: Envoy's rate limit service, as envoyproxy/ratelimit has it over HTTP.

#ifndef LIMITREE_SERVER_WEB_ENVOY_PAGE_HPP
#define LIMITREE_SERVER_WEB_ENVOY_PAGE_HPP

#include <vector>

#include "http/handler.hpp"
#include "limitree.h"
#include "services/descriptors_state.hpp"
#include "services/store_loop.hpp"
#include "web/envoy_answer.hpp"
#include "web/envoy_request.hpp"

namespace limitree::server {

// Belongs to the thread of one loop.
class EnvoyPage final : public Handler {
 public:
  // What is given by pointer outlives this.
  EnvoyPage(limitree_limiter* limiter, StoreLoop* store_loop,
            const AnswerSettings* settings, DescriptorsState* descriptors)
      : limiter_(limiter),
        store_loop_(store_loop),
        settings_(*settings),
        descriptors_(*descriptors) {}

  void add_to(HandlerTable* handlers) {
    handlers->add("/json", HttpMethods::kAny, this);
  }

  void on_request(Exchange* exchange) override;

 private:
  class Waiting;

  limitree_envoy_request request() const;
  void answer_now(Exchange* exchange);
  void answer_later(Exchange* exchange);

  limitree_limiter* limiter_;
  StoreLoop* store_loop_;
  const AnswerSettings& settings_;
  DescriptorsState& descriptors_;
  EnvoyJson json_;
  std::vector<limitree_descriptor_status> statuses_;  // of answer_now()
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_WEB_ENVOY_PAGE_HPP
