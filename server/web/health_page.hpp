// /healthcheck.

#ifndef LIMITREE_SERVER_WEB_HEALTH_PAGE_HPP
#define LIMITREE_SERVER_WEB_HEALTH_PAGE_HPP

#include "http/handler.hpp"

namespace limitree::server {

// 200 and "OK", or 500 without a body: as envoyproxy/ratelimit.
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

#endif  // LIMITREE_SERVER_WEB_HEALTH_PAGE_HPP
