// Random reservations, settlements and all other operations, by several
// processes: memcached answers as the memory store does.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/sanitizers.hpp"
#include "core/store/hold_requests.hpp"
#include "core/store/memcached/memcached_server.hpp"
#include "store/memcached/memcached_store.hpp"
#include "store/memory/memory_store.hpp"

namespace limitree::memcached {
namespace {

using namespace hold_requests;

class MemcachedDifferential : public testing::Test, protected HoldRequests {
 protected:
  MemoryStore memory_{100'000, clock_.clock()};
  const MemcachedServer one_;
  const MemcachedServer two_;
  MemcachedStore store_{
      store_settings("memcached://" + one_.host() + "," + two_.host()),
      clock_.clock()};
};

TEST_F(MemcachedDifferential, AgreesWithTheMemoryStore) {
  // No item is decided before its latest instant, and what is over by then may
  // have gone.
  steps_back_ = false;
  int limited = 0;
  int reserved = 0;
  std::size_t ended = 0;
  std::size_t listed = 0;
  std::string before;
  for (int i = 0; i < (kSanitized ? 2'000 : 6'000); ++i) {
    move_clock();
    Asked one = ask();
    if (one.plan.levels.empty()) continue;
    Asked two = one;
    SCOPED_TRACE("request " + std::to_string(i));
    std::vector<FoundHold> found[2];
    if (one.plan.only_looks && !one_in(5)) {
      one.plan.found = &found[0];
      two.plan.found = &found[1];
    }
    ASSERT_TRUE(memory_.decide(&one.plan).ok());
    const Status status = store_.decide(&two.plan);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(text_of(two.plan), text_of(one.plan)) << before;
    before = text_of(one.plan);
    listed += found[1].size();
    bool any = false;
    for (const Level& level : two.plan.levels) {
      ended += level.limit->holds() ? level.ended : 0;
      any |= level.verdict.charged;
      limited += level.verdict.limited ? 1 : 0;
    }
    if (any && one.plan.operation == Operation::kReserve) {
      ++reserved;
      ids_.push_back(one.plan.reservation.id);
    }
  }
  EXPECT_GT(limited, kSanitized ? 100 : 400);
  EXPECT_GT(reserved, kSanitized ? 300 : 900);
  EXPECT_GT(ended, 300U);
  EXPECT_GT(listed, 300U);
}

}  // namespace
}  // namespace limitree::memcached
