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
#include "services/decide_request.hpp"
#include "services/store_loop.hpp"

namespace limitree::server {

class LimiterService {
 public:
  // `store_loop` is that of the limiter.
  LimiterService(StoreLoop* store_loop, limitree_limiter* limiter);

  void add_to(MethodTable* methods);

 private:
  class Decide final : public Method {
   public:
    Decide(LimiterService* service, std::int32_t operation)
        : Method(MethodKind::kUnary),
          service_(service),
          operation_(operation) {}
    void on_message(Call* call, std::string_view message) override;
    bool needs_token() const override {
      return operation_ == LIMITREE_SPEND || operation_ == LIMITREE_REFUND;
    }

   private:
    LimiterService* service_;
    std::int32_t operation_;
  };

  class Reset final : public Method {
   public:
    explicit Reset(LimiterService* service)
        : Method(MethodKind::kUnary), service_(service) {}
    void on_message(Call* call, std::string_view message) override;
    bool needs_token() const override { return true; }

   private:
    LimiterService* service_;
  };

  void decide_now(Call* call, std::int32_t operation);
  void decide_later(Call* call, std::int32_t operation);
  void reset(Call* call, const ResetRequest& request);

  limitree_limiter* limiter_;
  StoreLoop* store_loop_;
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
