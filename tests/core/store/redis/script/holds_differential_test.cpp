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
#include "core/store/manual_clock.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/script_store.hpp"
#include "store/memory/memory_store.hpp"

namespace limitree::redis::holds_differential_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Shape {
  Algorithm algorithm;
  std::int64_t count;
  Duration period;
  Duration hold{};
  bool frees = false;
  Mode mode = Mode::kEnforce;
  bool by_calendar = false;
};

constexpr Algorithm kGcra = Algorithm::kGcra;
constexpr Algorithm kWindow = Algorithm::kFixedWindow;

const Shape kShapes[] = {
    {kGcra, 700, seconds(60), seconds(30)},
    {kGcra, 91, seconds(7), seconds(9), true},
    {kGcra, 7, seconds(10), seconds(3), false, Mode::kShadow},
    {kWindow, 500, seconds(10), seconds(35)},
    {kWindow, 60, milliseconds(500), seconds(14), false},
    {kWindow, 60, seconds(10), seconds(4), true},
    {kWindow, 400, hours(24), hours(20), false, Mode::kEnforce, true},
    {kWindow, 300, hours(24), hours(24), true, Mode::kEnforce, true},
    {Algorithm::kConcurrent, 300, seconds(20), seconds(20), true},
    {Algorithm::kConcurrent, 5, seconds(20), seconds(20), true, Mode::kCheck},
    {kGcra, 50, seconds(20), seconds(20), false, Mode::kCheck},
    {kGcra, 400, seconds(9)},
    {kWindow, 1000, seconds(5)},
    {Algorithm::kSlidingLog, 200, seconds(3)},
};

// `share`: of a limit that was changed.
Limit limit_of(const Shape& shape, std::uint32_t index, std::int64_t share) {
  Limit limit;
  limit.algorithm = shape.algorithm;
  limit.count = std::max(shape.count / share, std::int64_t{1});
  limit.period = shape.period;
  limit.rate = make_rate(limit.count, shape.period, limit.count).value();
  limit.mode = shape.mode;
  limit.index = index;
  limit.cost = index % 5 == 3 ? 2 : 1;
  limit.suffix = traits_of(shape.algorithm).suffix;
  if (shape.algorithm == kGcra && shape.hold == Duration::zero()) return limit;
  Rules rules;
  rules.hold = shape.hold;
  rules.frees = shape.frees;
  if (shape.by_calendar) {
    rules.align = Align::kCalendar;
    // An hour is skipped and repeated, on days in spring and autumn of 2025.
    rules.calendar = std::make_shared<const Calendar>(
        "UTC", Calendar::Unit::kDay,
        std::vector<ZoneOffset>{{0, 0}, {1750302000, 3600}, {1750600000, 0}});
  }
  limit.rules = std::make_shared<const Rules>(std::move(rules));
  return limit;
}

std::string text_of(const Plan& plan) {
  std::string text = "operation " +
                     std::to_string(static_cast<int>(plan.operation)) +
                     (plan.denied ? " denied" : "");
  for (const Level& level : plan.levels) {
    const Verdict& verdict = level.verdict;
    text += "\n  " + std::to_string(level.limit->index) + " " +
            std::string(traits_of(level.limit->algorithm).name) + " cost " +
            std::to_string(level.cost) + ": " +
            (verdict.limited ? "limited" : "allowed") +
            (verdict.charged ? " charged" : "");
    for (const std::int64_t number :
         {verdict.remaining, verdict.retry_after.count(),
          verdict.reset_after.count(), verdict.next_after.count(),
          plan.wants_growth ? grows_after(level).count() : 0}) {
      text += " " + std::to_string(number);
    }
    if (level.limit->is_plain()) continue;
    text += " after " + std::to_string(level.before);
    if (!level.limit->holds()) continue;
    text += level.crowded ? " crowded" : "";
    text += " ended " + std::to_string(level.ended);
  }
  if (plan.found == nullptr) return text;
  std::vector<FoundHold> found = *plan.found;
  std::ranges::sort(found, {}, [](const FoundHold& hold) {
    return std::tuple(hold.level, hold.ends_after, hold.id);
  });
  for (const FoundHold& hold : found) {
    for (const std::uint64_t number :
         {std::uint64_t{hold.level}, hold.id.high, hold.id.low,
          static_cast<std::uint64_t>(hold.units),
          static_cast<std::uint64_t>(hold.ends_after.count())}) {
      text += (number == hold.level ? "\n  " : " ") + std::to_string(number);
    }
  }
  return text;
}

// A plan whose levels are named after the indexes of their limits.
struct Asked {
  explicit Asked(Operation operation) : plan(operation) {}
  Asked(const Asked& other) : plan(other.plan.operation) {
    plan.only_looks = other.plan.only_looks;
    plan.denied = other.plan.denied;
    plan.wants_growth = other.plan.wants_growth;
    plan.reservation = other.plan.reservation;
    for (const Level& level : other.plan.levels) add(*level.limit, level.cost);
  }

  void add(const Limit& limit, std::int64_t cost) {
    const auto first = static_cast<std::uint32_t>(plan.segments.size());
    names.push_back(std::to_string(limit.index));
    plan.segments.emplace_back(limit.index % 2 == 0 ? "even" : "odd",
                               Segment::Kind::kCaller);
    plan.segments.emplace_back(names.back(), Segment::Kind::kExact);
    plan.add_level(&limit, first, 2u, cost);
  }

  std::deque<std::string> names;
  Plan plan;
};

class HoldsDifferential : public testing::Test {
 protected:
  HoldsDifferential() {
    std::uint32_t index = 0;
    for (const Shape& shape : kShapes) {
      limits_.push_back(limit_of(shape, index, 1));
      changed_.push_back(limit_of(shape, index, 3));
      ++index;
    }
    clock_.set(Instant(seconds(1'750'300'000)));
  }

  std::int64_t up_to(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random_);
  }
  bool one_in(std::int64_t count) { return up_to(count - 1) == 0; }

  const Limit& limit(std::size_t index) const {
    return (now_changed_.contains(index) ? changed_ : limits_)[index];
  }

  void move_clock() {
    clock_.advance(Duration(up_to(one_in(30) ? 3'000'000'000 : 9'000'000)));
    if (one_in(300)) clock_.advance(Duration(hours(up_to(9))));
    if (one_in(600)) clock_.advance(Duration(-up_to(20'000'000'000)));
    if (one_in(1500)) clock_.advance(std::chrono::days(up_to(4)));
    if (!one_in(900)) return;
    const auto index = static_cast<std::size_t>(
        up_to(static_cast<std::int64_t>(limits_.size()) - 1));
    if (!now_changed_.insert(index).second) now_changed_.erase(index);
  }

  HoldId some_id() {
    if (ids_.empty() || one_in(20)) return {random_(), random_()};
    const auto last =
        static_cast<std::int64_t>(std::min(ids_.size(), std::size_t{60}));
    return ids_[ids_.size() - 1 - static_cast<std::size_t>(up_to(last - 1))];
  }

  Operation random_operation() {
    switch (up_to(19)) {
      case 0:
      case 1:
        return Operation::kAuthorize;
      case 2:
        return Operation::kPeek;
      case 3:
        return Operation::kLook;
      case 4:
        return Operation::kSpend;
      case 5:
        return Operation::kRefund;
      case 6:
        return Operation::kExtend;
      case 7:
      case 8:
      case 9:
      case 10:
        return Operation::kSettle;
      default:
        return Operation::kReserve;
    }
  }

  std::int64_t random_cost(const Limit& limit) {
    switch (up_to(40)) {
      case 0:
        return 0;
      case 1:
        return limit.rate.capacity;
      case 2:
        return limit.rate.capacity + 1;
      case 3:
        return INT64_MAX;
      default:
        return limit.cost * (1 + (one_in(4) ? up_to(3) : 0));
    }
  }

  Asked ask() {
    Asked asked(random_operation());
    Plan& plan = asked.plan;
    plan.wants_growth = one_in(2);
    if (is_about_hold(plan.operation)) {
      plan.reservation.id = some_id();
    } else if (plan.operation == Operation::kReserve) {
      plan.reservation.id = {random_(), random_()};
      plan.denied = one_in(30);
    }
    if (plan.operation == Operation::kExtend || one_in(6)) {
      plan.reservation.hold = Duration(1 + up_to(40'000'000'000));
    }
    const auto last = static_cast<std::int64_t>(limits_.size()) - 1;
    const bool all = one_in(is_about_hold(plan.operation) ? 2 : 40);
    const std::int64_t levels = all ? last + 1 : 1 + up_to(3);
    std::set<std::int64_t> chosen;
    while (static_cast<std::int64_t>(chosen.size()) < levels) {
      chosen.insert(up_to(last));
    }
    for (const std::int64_t i : chosen) {
      const Limit& one = limit(static_cast<std::size_t>(i));
      if (is_about_hold(plan.operation)) {
        if (!one.holds()) continue;
        const bool extends = plan.operation == Operation::kExtend;
        asked.add(one, extends ? 0 : one_in(2) ? kAsHeld : up_to(4));
      } else {
        asked.add(one, random_cost(one));
      }
    }
    return asked;
  }

  ManualClock clock_;
  std::mt19937_64 random_{7};
  std::deque<Limit> limits_;
  std::deque<Limit> changed_;
  std::set<std::size_t> now_changed_;
  std::vector<HoldId> ids_;
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
