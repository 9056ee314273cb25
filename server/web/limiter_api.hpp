// /v1: the limit tree over HTTP.

#ifndef LIMITREE_SERVER_WEB_LIMITER_API_HPP
#define LIMITREE_SERVER_WEB_LIMITER_API_HPP

#include <list>
#include <span>
#include <string>
#include <utility>

#include "decisions/decider.hpp"
#include "http/handler.hpp"
#include "limitree.h"
#include "web/path_request.hpp"

namespace limitree::server {

// Belongs to the thread of one loop.
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

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_WEB_LIMITER_API_HPP
