// Leases through limitree.h, over a real Redis that obeys the caller's clock.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "capi/capi_redis.hpp"

namespace limitree::capi_test {
namespace {

constexpr const char* kLeased = R"(
schema:
  user: {children: {"*": {limits: {count: 500, period: 1s, lease: 100ms}}}}
)";

class CapiLeases : public CapiRedis {
 protected:
  Limiter limiter_with(const std::string& leases) {
    const Config config(limitree_config_new());
    EXPECT_EQ(limitree_config_set_limits(config.get(), str(kLeased),
                                         str("limits.yaml"), nullptr),
              0);
    const auto set = [&](const char* name, const std::string& value) {
      EXPECT_EQ(limitree_config_set(config.get(), name, str(value), nullptr),
                0);
    };
    set("store", url());
    set("timeout", "30s");
    set("leases", leases);
    EXPECT_EQ(
        limitree_config_set_clock(
            config.get(),
            [](void* self) { return static_cast<CapiLeases*>(self)->now_ns_; },
            this, nullptr),
        0);
    limitree_limiter* limiter = nullptr;
    EXPECT_EQ(limitree_limiter_new(config.get(), &limiter, nullptr), 0);
    return Limiter(limiter);
  }

  limitree_decision authorize(const Limiter& limiter) {
    now_ns_ += 4'000'000;
    const std::string root = "user";
    const std::string user = "leased";
    const std::array path = {str(root), str(user)};
    limitree_decision decision;
    EXPECT_EQ(limitree_authorize(limiter.get(), path.data(), path.size(), 1,
                                 &decision, nullptr),
              LIMITREE_OK);
    return decision;
  }

  std::int64_t now_ns_ = 1'750'000'000'000'000'000;
};

TEST_F(CapiLeases, AnswerMostRequestsOfAHotCaller) {
  const Limiter limiter = limiter_with("remote");
  int leased = 0;
  for (int i = 0; i < 500; ++i) {
    const limitree_decision decision = authorize(limiter);
    EXPECT_EQ(decision.limited, 0);
    if (decision.source != LIMITREE_SOURCE_LEASE) continue;
    ++leased;
    EXPECT_EQ(decision.flags, 0U);
    EXPECT_EQ(decision.limit, 450);
    EXPECT_EQ(decision.level_count, 1);
  }
  EXPECT_GT(leased, 400);
  limitree::Counters stats = stats_of(limiter);
  EXPECT_EQ(stats["from_lease"], leased);
  EXPECT_EQ(stats["lease_used"], leased);
  EXPECT_GE(stats["leased"], leased + stats["lease_lost"]);
  EXPECT_LT(stats["round_trips"], 100);
}

TEST_F(CapiLeases, AreAnOption) {
  const Limiter limiter = limiter_with("off");
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(authorize(limiter).source, LIMITREE_SOURCE_STORE);
  }
}

}  // namespace
}  // namespace limitree::capi_test
