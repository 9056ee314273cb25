// envoy.service.ratelimit.v3.RateLimitService: what Envoy asks.

#ifndef LIMITREE_SERVER_SERVICES_ENVOY_SERVICE_HPP
#define LIMITREE_SERVER_SERVICES_ENVOY_SERVICE_HPP

#include <string_view>
#include <vector>

#include "grpc/call.hpp"
#include "grpc/method.hpp"
#include "limitree.h"
#include "services/answer_settings.hpp"
#include "services/descriptors_state.hpp"
#include "services/envoy_request.hpp"
#include "services/store_loop.hpp"

namespace limitree::server {

class EnvoyService final : public Method {
 public:
  // `store_loop` is that of the limiter; what is given by pointer outlives the
  // service and its calls.
  EnvoyService(StoreLoop* store_loop, limitree_limiter* limiter,
               const AnswerSettings* settings, DescriptorsState* descriptors)
      : Method(MethodKind::kUnary),
        store_loop_(store_loop),
        limiter_(limiter),
        settings_(settings),
        descriptors_(descriptors) {}

  void add_to(MethodTable* methods);
  void on_message(Call* call, std::string_view message) override;

 private:
  void ask_now(Call* call, const limitree_envoy_request& request);
  void ask_later(Call* call, const limitree_envoy_request& request);

  StoreLoop* store_loop_;
  limitree_limiter* limiter_;
  const AnswerSettings* settings_;
  DescriptorsState* descriptors_;
  EnvoyRequest request_;
  std::vector<limitree_descriptor_status> statuses_;  // of ask_now()
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_ENVOY_SERVICE_HPP
