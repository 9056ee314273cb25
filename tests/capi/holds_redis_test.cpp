// Reservations of a C caller whose store does not answer.

#include <gtest/gtest.h>

#include <string>

#include "capi/capi_redis.hpp"
#include "core/store/redis/await.hpp"
#include "core/store/redis/chaos_proxy.hpp"

namespace holds_redis_test {
namespace {

using namespace limitree::capi_test;

// Whether it holds or not, the caller has what it takes to end that.
TEST_F(CapiRedis, AReservationWithoutAnAnswerCanBeCancelled) {
  limitree::redis::ChaosProxy proxy(server().port());
  const Limiter limiter =
      limiter_on("redis://127.0.0.1:" + std::to_string(proxy.port()), nullptr,
                 {{"timeout", "30s"}});
  reload(limiter, "schema: {job: {limits: {concurrent: 1, hold: 20h}}}");
  const limitree_str job = {"job", 3};
  const limitree_path path = {&job, 1, 1, LIMITREE_PART_CHARGE};
  limitree_decision decision;
  limitree_hold hold = {};
  const auto reserve = [&] {
    return limitree_reserve(limiter.get(), &path, 1, nullptr, 0, 0, &hold,
                            nullptr, 0, &decision, nullptr);
  };
  const auto cancel = [&] {
    return limitree_cancel(limiter.get(), &hold, &path, 1, &decision, nullptr);
  };
  // So that the server knows the scripts.
  ASSERT_EQ(reserve(), LIMITREE_OK);
  ASSERT_EQ(cancel(), LIMITREE_OK);
  ASSERT_EQ(decision.held, 1);

  const limitree_hold before = hold;
  proxy.cut_after = 0;
  EXPECT_EQ(reserve(), LIMITREE_STORE_TIMEOUT);
  EXPECT_NE(hold.id[0], before.id[0]);
  proxy.cut_after = -1;
  limitree::await("the store", [&] { return cancel() == LIMITREE_OK; });
  EXPECT_EQ(decision.held, 1);
  ASSERT_EQ(reserve(), LIMITREE_OK);
  EXPECT_EQ(decision.limited, 0);
}

}  // namespace
}  // namespace holds_redis_test
