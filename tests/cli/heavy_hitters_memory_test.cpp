// HeavyHitters when memory runs out.

#include <gtest/gtest.h>

#include <limits>
#include <new>
#include <string>

#include "capi/starving_new.hpp"
#include "heavy_hitters.hpp"

namespace limitree {
namespace {

TEST(HeavyHittersMemory, StayAsTheyWereIfThereIsNone) {
  HeavyHitters callers(2);
  for (const char* const name : {"a", "a", "b"}) callers.add(name);
  const std::string caller(HeavyHitters::kMaxText, 'x');
  bool failed = false;
  g_allocations_left = 0;
  try {
    callers.add(caller);
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  g_allocations_left = std::numeric_limits<long>::max();
  EXPECT_TRUE(failed);
  EXPECT_EQ(callers.top(2).back().text, "b");
  callers.add(caller);
  EXPECT_EQ(callers.top(2)[1].text, caller);
  EXPECT_EQ(callers.top(2)[1].error, 1);
  EXPECT_EQ(callers.total(), 4);
}

}  // namespace
}  // namespace limitree
