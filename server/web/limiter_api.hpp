// /v1: the limit tree over HTTP.

#ifndef LIMITREE_SERVER_WEB_LIMITER_API_HPP
#define LIMITREE_SERVER_WEB_LIMITER_API_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "http/handler.hpp"
#include "limitree.h"
#include "services/store_loop.hpp"
#include "web/path_request.hpp"

namespace limitree::server {

// Belongs to the thread of one loop.
class LimiterApi {
 public:
  // `style` is that of the header fields, one of limitree_http_style_at().
  // What is given by pointer outlives this.
  LimiterApi(limitree_limiter* limiter, StoreLoop* store_loop,
             std::string style);

  void add_to(HandlerTable* handlers);

 private:
  class Decide final : public Handler {
   public:
    Decide(LimiterApi* api, std::int32_t operation)
        : api_(api), operation_(operation) {}
    void on_request(Exchange* exchange) override;

   private:
    LimiterApi* api_;
    std::int32_t operation_;
  };

  class Reset final : public Handler {
   public:
    explicit Reset(LimiterApi* api) : api_(api) {}
    void on_request(Exchange* exchange) override;

   private:
    LimiterApi* api_;
  };

  class Waiting;

  // Answers and returns false if the client may not ask so.
  bool lets_in(Exchange* exchange, bool needs_token) const;
  void decide_now(Exchange* exchange, std::int32_t operation);
  void decide_later(Exchange* exchange, std::int32_t operation);
  void reset(Exchange* exchange);
  void answer(Exchange* exchange, const limitree_decision& decision,
              std::span<const limitree_level> levels, bool with_levels) const;

  limitree_limiter* limiter_;
  StoreLoop* store_loop_;
  const std::string style_;
  PathRequest request_;
  std::unique_ptr<limitree_level[]> levels_;  // of decide_now()
  Decide authorize_{this, LIMITREE_AUTHORIZE};
  Decide peek_{this, LIMITREE_PEEK};
  Decide spend_{this, LIMITREE_SPEND};
  Decide refund_{this, LIMITREE_REFUND};
  Reset reset_{this};
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_WEB_LIMITER_API_HPP
