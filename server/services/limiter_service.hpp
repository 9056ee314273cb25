// limitree.v1.Limiter: the tree, for languages without a binding.

#ifndef LIMITREE_SERVER_SERVICES_LIMITER_SERVICE_HPP
#define LIMITREE_SERVER_SERVICES_LIMITER_SERVICE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "grpc/call.hpp"
#include "grpc/method.hpp"
#include "limitree.h"
#include "net/loop.hpp"
#include "services/blocking_calls.hpp"
#include "services/decide_request.hpp"
#include "services/store_loop.hpp"

namespace limitree::server {

class LimiterService {
 public:
  // `store_loop` is that of the limiter.
  LimiterService(Loop* loop, StoreLoop* store_loop, limitree_limiter* limiter);

  void add_to(MethodTable* methods);

  // For other protocols of the same loop.
  BlockingCalls* blocking() { return &blocking_; }

 private:
  class Decide final : public Method {
   public:
    Decide(LimiterService* service, std::int32_t operation)
        : Method(MethodKind::kUnary),
          service_(service),
          operation_(operation) {}
    void on_message(Call* call, std::string_view message) override;

   private:
    LimiterService* service_;
    std::int32_t operation_;
  };

  class Reset final : public Method {
   public:
    explicit Reset(LimiterService* service)
        : Method(MethodKind::kUnary), service_(service) {}
    void on_message(Call* call, std::string_view message) override;

   private:
    LimiterService* service_;
  };

  void decide_now(Call* call, std::int32_t operation);
  void decide_later(Call* call, std::int32_t operation);
  void reset_now(Call* call, const ResetRequest& request);
  void reset_later(Call* call, const ResetRequest& request);

  limitree_limiter* limiter_;
  StoreLoop* store_loop_;
  BlockingCalls blocking_;
  DecideRequest request_;
  std::unique_ptr<limitree_level[]> levels_;  // of decide_now()
  Decide authorize_{this, LIMITREE_AUTHORIZE};
  Decide peek_{this, LIMITREE_PEEK};
  Decide spend_{this, LIMITREE_SPEND};
  Decide refund_{this, LIMITREE_REFUND};
  Reset reset_{this};
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_LIMITER_SERVICE_HPP
