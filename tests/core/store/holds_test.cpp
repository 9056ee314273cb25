// Random reservations, settlements and extensions in memory and in shm://,
// beside a model; with hundreds of holds in a bucket.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/judge.hpp"
#include "core/sanitizers.hpp"
#include "core/store/held_model.hpp"
#include "core/store/shared/shared_file.hpp"
#include "store/memory/memory_store.hpp"

namespace limitree::holds_test {
namespace {

constexpr int kSteps = kSanitized ? 1500 : 6000;
constexpr std::int64_t kStart = 1'750'000'000'000'000'000;

struct Shape {
  const char* name;
  Algorithm algorithm;
  std::int64_t count;
  Duration period;
  Duration hold;
  bool frees;
};

using std::chrono::seconds;

constexpr Shape kShapes[] = {
    {"gcra", Algorithm::kGcra, 700, seconds(60), seconds(30), false},
    {"gcra_frees", Algorithm::kGcra, 90, seconds(7), seconds(9), true},
    {"gcra_few", Algorithm::kGcra, 5, seconds(10), seconds(3), false},
    {"window", Algorithm::kFixedWindow, 500, seconds(10), seconds(35), false},
    {"window_frees", Algorithm::kFixedWindow, 60, seconds(10), seconds(4),
     true},
    {"slots", Algorithm::kConcurrent, 300, seconds(20), seconds(20), true},
};

Limit limit_of(const Shape& shape) {
  Limit limit;
  limit.algorithm = shape.algorithm;
  limit.count = shape.count;
  limit.period = shape.period;
  limit.rate = make_rate(shape.count, shape.period, shape.count).value();
  Rules rules;
  rules.hold = shape.hold;
  rules.frees = shape.frees;
  limit.rules = std::make_shared<const Rules>(rules);
  limit.suffix = traits_of(shape.algorithm).suffix;
  return limit;
}

class HoldsTest : public testing::TestWithParam<Shape> {
 protected:
  Clock clock() {
    return Clock([](void* self) { return static_cast<HoldsTest*>(self)->now_; },
                 this);
  }

  // One level of the bucket "a".
  Level decide(Operation operation, std::int64_t cost, HoldId id = {},
               Duration hold = {}) {
    Plan plan(operation);
    plan.reservation = {id, hold};
    plan.segments.push_back({"a", Segment::Kind::kCaller});
    plan.add_level(&limit_, 0, 1, cost);
    const Status status = store_->decide(&plan);
    EXPECT_TRUE(status.ok()) << status.message();
    return plan.levels[0];
  }

  void expect_same(const Level& level, bool limited, std::int64_t cost) {
    const Verdict& verdict = level.verdict;
    EXPECT_EQ(verdict.limited, limited);
    EXPECT_EQ(verdict.remaining, model_.remaining());
    EXPECT_EQ(verdict.reset_after.count(), model_.reset_after());
    const std::int64_t wait = model_.wait(cost);
    EXPECT_EQ(verdict.next_after, wait < 0 ? kNever : Duration(wait));
    EXPECT_EQ(verdict.retry_after, limited ? verdict.next_after : kNotLimited);
  }

  void ask(Operation operation, std::int64_t cost, Duration hold) {
    const HoldId id{random_(), random_()};
    const bool fits = model_.fits(cost);
    if (fits && cost > 0 && operation == Operation::kReserve) {
      const Duration own = hold > Duration::zero() ? hold : limit_.rules->hold;
      model_.hold(id, cost, now_ + own.count());
      ids_.push_back(id);
    } else if (fits && operation == Operation::kAuthorize) {
      model_.charge(cost);
    }
    expect_same(decide(operation, cost, id, hold), !fits, cost);
  }

  void settle(HoldId id, std::int64_t units) {
    const std::optional<Hold> held = model_.take(id);
    if (held) model_.charge(units == kAsHeld ? held->units : units);
    EXPECT_EQ(decide(Operation::kSettle, units, id).verdict.charged,
              held.has_value());
  }

  void extend(HoldId id, Duration hold) {
    const std::optional<Hold> held = model_.take(id);
    if (held) model_.hold(id, held->units, now_ + hold.count());
    EXPECT_EQ(decide(Operation::kExtend, 0, id, hold).verdict.charged,
              held.has_value());
  }

  // An id that was made; mostly one of the last.
  HoldId some_id() {
    if (ids_.empty() || random_() % 20 == 0) return {random_(), random_()};
    const std::size_t last = std::min<std::size_t>(ids_.size(), 400);
    return ids_[ids_.size() - 1 - random_() % last];
  }

  void step(std::uint64_t pause) {
    now_ += static_cast<std::int64_t>(random_() % pause);
    if (random_() % 300 == 0) now_ += limit_.period.count() + 17;
    model_.meet(now_);
    const auto most = static_cast<std::uint64_t>(limit_.count);
    const auto cost = static_cast<std::int64_t>(
        random_() % 50 == 0 ? random_() % (most + 2) : 1 + random_() % 3);
    const Duration hold = random_() % 9 == 0
                              ? Duration(1 + random_() % 40'000'000'000)
                              : Duration(0);
    switch (random_() % 12) {
      case 0:
      case 1:
        settle(some_id(), random_() % 2 == 0 ? kAsHeld : cost - 1);
        break;
      case 2:
        extend(some_id(), Duration(1 + random_() % 40'000'000'000));
        break;
      case 3:
        // A slot is only ever held.
        if (limit_.algorithm != Algorithm::kConcurrent) {
          ask(Operation::kAuthorize, cost, {});
        }
        break;
      default:
        ask(Operation::kReserve, cost, hold);
        break;
    }
    const Level look = decide(Operation::kLook, 0);
    EXPECT_EQ(look.verdict.remaining, model_.remaining());
    EXPECT_EQ(look.verdict.reset_after.count(), model_.reset_after());
  }

  void run(Store* store) {
    store_ = store;
    std::int64_t most = 0;
    for (int i = 0; i < kSteps && !HasFailure(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      step(60'000'000);
      most = std::max(most, static_cast<std::int64_t>(model_.size()));
    }
    // Several pages, where the limit allows that.
    EXPECT_GE(most, std::min<std::int64_t>(100, GetParam().count / 4));
  }

  void set_back() {
    for (std::uint64_t i = 0; i < 40; ++i) {
      const Level level =
          decide(Operation::kReserve, 1, {1, i}, seconds(30 + i));
      ASSERT_EQ(level.verdict.charged,
                i < static_cast<std::uint64_t>(limit_.count));
    }
    const std::int64_t held = std::min<std::int64_t>(40, limit_.count);
    now_ -= Duration(seconds(1800)).count();
    EXPECT_EQ(decide(Operation::kLook, 0).verdict.remaining,
              limit_.count - held);
    now_ -= Duration(std::chrono::hours(26)).count();
    const Level level = decide(Operation::kReserve, 1, {2, 0});
    const bool is_free = limit_.rules->frees || held < limit_.count;
    EXPECT_EQ(level.verdict.limited, !is_free);
    const Level settled = decide(Operation::kSettle, 0, {1, 3});
    EXPECT_FALSE(settled.verdict.charged);
    if (limit_.rules->frees) {
      EXPECT_EQ(settled.verdict.remaining, limit_.count - 1);
    }
  }

  // Holds as much as a bucket can.
  void fill(Store* store) {
    Limit large = limit_;
    large.rate = {Duration(1000), 2 * kMaxHolds};
    Plan plan(Operation::kReserve);
    plan.segments.push_back({"full", Segment::Kind::kCaller});
    plan.add_level(&large, 0, 1, 1);
    for (std::uint32_t i = 0; i < kMaxHolds; ++i) {
      plan.reservation.id = {1, i};
      ASSERT_TRUE(store->decide(&plan).ok());
      ASSERT_FALSE(plan.levels[0].verdict.limited);
      now_ += 1;
    }
    plan.reservation.id = {2, 0};
    ASSERT_TRUE(store->decide(&plan).ok());
    const Verdict& verdict = plan.levels[0].verdict;
    EXPECT_TRUE(verdict.limited);
    EXPECT_EQ(verdict.remaining, kMaxHolds);
    EXPECT_EQ(verdict.retry_after,
              large.rules->hold - Duration(std::int64_t{kMaxHolds}));
    now_ += verdict.retry_after.count();
    ASSERT_TRUE(store->decide(&plan).ok());
    EXPECT_FALSE(plan.levels[0].verdict.limited);
  }

  std::int64_t now_ = kStart;
  std::mt19937_64 random_{42};
  const Limit limit_ = limit_of(GetParam());
  HeldModel model_{limit_};
  std::vector<HoldId> ids_;
  Store* store_ = nullptr;
};

TEST_P(HoldsTest, Memory) {
  MemoryStore store(1000, clock());
  run(&store);
}

TEST_P(HoldsTest, Shared) {
  SharedFile file(1000, clock());
  const auto store = file.open();
  run(store.get());
}

// Windows and holds end between one request and the next.
TEST_P(HoldsTest, FewRequests) {
  MemoryStore store(1000, clock());
  store_ = &store;
  for (int i = 0; i < kSteps && !HasFailure(); ++i) {
    SCOPED_TRACE("step " + std::to_string(i));
    step(12'000'000'000);
  }
}

// A clock that is set back lets holds last longer, but not by more than a hold
// can be.
TEST_P(HoldsTest, AClockThatIsSetBack) {
  MemoryStore memory(1000, clock());
  SharedFile file(1000, clock());
  const auto shared = file.open();
  for (Store* const store :
       {static_cast<Store*>(&memory), static_cast<Store*>(shared.get())}) {
    store_ = store;
    now_ = kStart;
    set_back();
  }
}

TEST_P(HoldsTest, AFurtherHoldIsDeniedUntilOneEnds) {
  MemoryStore store(1000, clock());
  fill(&store);
  SharedFile file(1000, clock());
  fill(file.open().get());
}

INSTANTIATE_TEST_SUITE_P(Shapes, HoldsTest, testing::ValuesIn(kShapes),
                         [](const auto& one) {
                           return std::string(one.param.name);
                         });

}  // namespace
}  // namespace limitree::holds_test
