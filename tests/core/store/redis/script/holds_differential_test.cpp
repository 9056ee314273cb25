// Random reservations, settlements and all other operations on limits with and
// without `hold`: the scripts answer as the memory store does.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/calendar.hpp"
#include "base/judge.hpp"
#include "core/sanitizers.hpp"
#include "core/store/hold_requests.hpp"
#include "core/store/manual_clock.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/script_store.hpp"
#include "store/memory/memory_store.hpp"

namespace limitree::redis::holds_differential_test {
namespace {

using namespace hold_requests;

class HoldsDifferential : public testing::Test, protected HoldRequests {
 protected:
  MemoryStore memory_{100'000, clock_.clock()};
  const RedisServer server_;
  ScriptStore script_{server_, [this]() -> Now { return clock_.now(); }};
};

TEST_F(HoldsDifferential, AgreesWithTheMemoryStore) {
  int settled = 0;
  int limited = 0;
  int reserved = 0;
  std::size_t ended = 0;
  std::size_t listed = 0;
  std::string before;
  for (int i = 0; i < (kSanitized ? 4'000 : 12'000); ++i) {
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
    const Status status = script_.decide(&two.plan);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(text_of(two.plan), text_of(one.plan)) << before;
    before = text_of(one.plan);
    listed += found[1].size();
    bool any = false;
    for (const Level& level : two.plan.levels) {
      ended += level.limit->holds() ? level.ended : 0;
      any |= level.verdict.charged;
      limited += level.verdict.limited;
      settled +=
          level.verdict.charged && one.plan.operation == Operation::kSettle;
      reserved +=
          level.verdict.charged && one.plan.operation == Operation::kReserve;
    }
    ASSERT_EQ(script_.charged(), any);
    if (any && one.plan.operation == Operation::kReserve) {
      ids_.push_back(one.plan.reservation.id);
    }
  }
  EXPECT_GT(settled, kSanitized ? 200 : 800);
  EXPECT_GT(limited, 1000);
  EXPECT_GT(reserved, 2000);
  EXPECT_GT(ended, 1000U);
  EXPECT_GT(listed, 1000U);
}

// Many holds that end in any order, in one bucket of each kind.
TEST_F(HoldsDifferential, ManyHolds) {
  for (const std::size_t index : {0u, 3u, 4u, 6u, 8u}) {
    SCOPED_TRACE("limit " + std::to_string(index));
    Limit large = limits_[index];
    large.rate.capacity = 3000;
    Limit other = large;  // of a process that has not reloaded yet
    other.rate.capacity = 2900;
    std::vector<HoldId> ids;
    for (int i = 0; i < 4000; ++i) {
      clock_.advance(Duration(up_to(2'000'000)));
      Asked one(i % 4 == 3 ? Operation::kSettle : Operation::kReserve);
      one.plan.wants_growth = i % 7 == 0;
      if (i % 4 == 3) {
        one.plan.reservation.id = ids[static_cast<std::size_t>(
            up_to(static_cast<std::int64_t>(ids.size()) - 1))];
        one.add(i % 70 < 9 ? other : large, one_in(2) ? kAsHeld : 0);
      } else {
        one.plan.reservation = {{random_(), random_()},
                                Duration(1 + up_to(20'000'000'000))};
        ids.push_back(one.plan.reservation.id);
        one.add(i % 70 < 9 ? other : large, 1 + up_to(1));
      }
      Asked two = one;
      ASSERT_TRUE(memory_.decide(&one.plan).ok());
      ASSERT_TRUE(script_.decide(&two.plan).ok());
      ASSERT_EQ(text_of(two.plan), text_of(one.plan)) << i;
    }
    Asked all(Operation::kLook);
    all.add(large, 0);
    ASSERT_TRUE(script_.reset(all.plan).ok());
    EXPECT_EQ(script_.forgotten(), 1);
    const Reply keys = script_.send_words({"KEYS", "*"});
    EXPECT_EQ(keys->elements, 0u) << "what was held stays";
  }
}

TEST_F(HoldsDifferential, AClockThatIsSetBackByYears) {
  for (const std::size_t index : {0u, 1u, 3u, 8u}) {
    for (const int days : {0, 2, -400, 0, 400, -90}) {
      clock_.advance(std::chrono::days(days));
      for (const Operation operation :
           {Operation::kReserve, Operation::kPeek, Operation::kReserve}) {
        Asked one(operation);
        one.plan.reservation.id = {random_(), random_()};
        one.add(limits_[index], 2);
        Asked two = one;
        ASSERT_TRUE(memory_.decide(&one.plan).ok());
        ASSERT_TRUE(script_.decide(&two.plan).ok());
        ASSERT_EQ(text_of(two.plan), text_of(one.plan)) << days;
      }
    }
  }
}

// With the server's clock.
class HeldScript : public testing::Test {
 protected:
  Status decide(Operation operation, const Limit& limit, std::int64_t cost,
                HoldId id = {}) {
    asked_ = std::make_unique<Asked>(operation);
    asked_->plan.reservation.id = id;
    asked_->add(limit, cost);
    return script_.decide(&asked_->plan);
  }
  const Verdict& verdict() const { return asked_->plan.levels[0].verdict; }

  const RedisServer server_;
  ScriptStore script_{server_};
  std::unique_ptr<Asked> asked_;
};

TEST_F(HeldScript, KeepsTheKeyUntilNothingIsHeldOrOwed) {
  const Limit limit = limit_of({kGcra, 60, seconds(60), hours(2)}, 0, 1);
  ASSERT_TRUE(decide(Operation::kReserve, limit, 30, {1, 2}).ok());
  EXPECT_TRUE(verdict().charged);
  EXPECT_EQ(verdict().remaining, 30);
  EXPECT_EQ(verdict().reset_after, hours(2) + seconds(30));
  const std::string key =
      address_of(asked_->plan, asked_->plan.levels[0], ScriptStore::kPrefix)
          .key;
  const Reply life = script_.send_words({"TTL", key});
  EXPECT_GE(life->integer, 7200 + 29);
  EXPECT_LE(life->integer, 2 * (7200 + 30) + 2);
  ASSERT_TRUE(decide(Operation::kSettle, limit, 0, {1, 2}).ok());
  EXPECT_TRUE(verdict().charged);
  EXPECT_EQ(script_.send_words({"EXISTS", key})->integer, 0);
  ASSERT_TRUE(decide(Operation::kSettle, limit, 0, {1, 2}).ok());
  EXPECT_FALSE(verdict().charged);
}

TEST_F(HeldScript, RefusesWhatItCannotCount) {
  const Limit limit = limit_of({kGcra, 1, hours(24 * 101), hours(2)}, 0, 1);
  EXPECT_EQ(decide(Operation::kReserve, limit, 1).code(),
            Code::kInvalidArgument);
  const Limit window = limit_of({kWindow, 1, hours(24 * 101), hours(2)}, 0, 1);
  EXPECT_EQ(decide(Operation::kPeek, window, 1).code(), Code::kInvalidArgument);
  const Limit small = limit_of({kGcra, 9, seconds(9), hours(2)}, 0, 1);
  EXPECT_EQ(decide(Operation::kReserve, small, -1).code(),
            Code::kInvalidArgument);
  EXPECT_TRUE(decide(Operation::kSettle, small, kAsHeld).ok());
}

TEST_F(HeldScript, FailsIfAFieldHoldsSomethingElse) {
  for (const Algorithm algorithm : {kGcra, kWindow, Algorithm::kConcurrent}) {
    const Limit limit = limit_of({algorithm, 9, seconds(9), hours(2)}, 0, 1);
    const Asked asked = [&] {
      Asked made(Operation::kPeek);
      made.add(limit, 1);
      return made;
    }();
    const Address place =
        address_of(asked.plan, asked.plan.levels[0], ScriptStore::kPrefix);
    for (const std::string& field : {place.field, place.field + "!h"}) {
      if (field == place.field && algorithm == Algorithm::kConcurrent) continue;
      script_.send_words({"HSET", place.key, field, "something"});
      for (int layout = 0; layout < 3; ++layout) {
        const Status status = decide(Operation::kReserve, limit, 1);
        ASSERT_FALSE(status.ok()) << field;
        EXPECT_TRUE(status.message().starts_with("WRONGTYPE a field of"))
            << status.message();
      }
      script_.send_words({"DEL", place.key});
    }
  }
}

// As many pages end at once as all levels of a request can have.
TEST_F(HeldScript, AnyNumberOfPagesEndAtOnce) {
  const Limit limit =
      limit_of({Algorithm::kConcurrent, 9, seconds(9), hours(2)}, 0, 1);
  ASSERT_TRUE(decide(Operation::kReserve, limit, 1, {1, 2}).ok());
  const Address place =
      address_of(asked_->plan, asked_->plan.levels[0], ScriptStore::kPrefix);
  const Reply made = script_.send_words(
      {"EVAL",
       "local head = redis.call('HGET', KEYS[1], ARGV[1])\n"
       "local pages = {}\n"
       "for number = 1, 9000 do\n"
       "  pages[number] = struct.pack('<dddddddd', number, 1, -1, -1, 1,\n"
       "    0, 0, 0)\n"
       "end\n"
       "redis.call('HSET', KEYS[1], ARGV[1],\n"
       "  string.sub(head, 1, 56) .. struct.pack('<d', 9000) ..\n"
       "  string.sub(head, 65, 88) .. table.concat(pages))",
       "1", place.key, place.field + "!h"});
  ASSERT_NE(made->type, REDIS_REPLY_ERROR) << made->str;
  const Status status = decide(Operation::kReserve, limit, 1, {1, 3});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(verdict().limited);
  EXPECT_EQ(script_.send_words({"HLEN", place.key})->integer, 3);
}

TEST_F(HeldScript, HoldsAtMostTenThousand) {
  Limit limit =
      limit_of({Algorithm::kConcurrent, 100, seconds(9), hours(2)}, 0, 1);
  limit.rate.capacity = 2 * kMaxHolds;
  for (std::uint32_t i = 0; i < kMaxHolds; ++i) {
    ASSERT_TRUE(decide(Operation::kReserve, limit, 1, {1, i}).ok());
    ASSERT_FALSE(verdict().limited) << i;
  }
  ASSERT_TRUE(decide(Operation::kReserve, limit, 1, {2, 0}).ok());
  EXPECT_TRUE(verdict().limited);
  EXPECT_EQ(verdict().remaining, kMaxHolds);
  EXPECT_GT(verdict().retry_after, hours(1));
  EXPECT_LT(verdict().retry_after, hours(2));
  ASSERT_TRUE(decide(Operation::kSettle, limit, 0, {1, 5000}).ok());
  EXPECT_TRUE(verdict().charged);
  ASSERT_TRUE(decide(Operation::kReserve, limit, 1, {2, 0}).ok());
  EXPECT_FALSE(verdict().limited);
}

}  // namespace
}  // namespace limitree::redis::holds_differential_test
