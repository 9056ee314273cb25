// Charges that a cluster takes back later: Plan::charged_at.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/manual_clock.hpp"
#include "core/store/redis/script_store.hpp"
#include "core/store/store_cases.hpp"

namespace limitree::redis::take_back_test {
namespace {

using std::chrono::milliseconds;

// Of ten units in a second.
struct Case {
  const char* name;
  Algorithm algorithm;
  std::function<void(Rules*)> change = nullptr;

  Limit limit() const {
    Limit limit = limit_of(algorithm, 10, std::chrono::seconds(1));
    if (!change) return limit;
    Rules rules = limit.rules != nullptr ? *limit.rules : Rules();
    change(&rules);
    limit.rules = std::make_shared<const Rules>(std::move(rules));
    return limit;
  }
};
void hold(Rules* rules) { rules->hold = std::chrono::seconds(9); }

// A bucket "with" charges that are taken back, and one "without" them.
class TakeBack : public testing::TestWithParam<Case> {
 protected:
  struct Taken {
    Instant at;
    std::int64_t cost;
  };

  static const RedisServer& server() {
    static const RedisServer server;
    return server;
  }

  Verdict ask(Operation operation, const std::string& name, std::int64_t cost,
              std::optional<Instant> charged_at = {}) {
    Plan plan(operation);
    plan.charged_at = charged_at;
    plan.segments.emplace_back(name, Segment::Kind::kCaller);
    plan.add_level(&limit_, 0u, 1u, cost);
    EXPECT_TRUE(store_.decide(&plan).ok());
    return plan.levels[0].verdict;
  }
  void take_back(const Taken& taken) {
    ask(Operation::kRefund, "with", taken.cost, taken.at);
  }
  std::int64_t left(const std::string& name) {
    return ask(Operation::kPeek, name, 0).remaining;
  }

  void SetUp() override { store_.send_words({"FLUSHALL"}); }

  const Limit limit_ = GetParam().limit();
  ManualClock clock_;
  ScriptStore store_{server(), [this]() -> Now { return clock_.now(); }};
};

TEST_P(TakeBack, LeavesNothingIfItIsDoneAtOnce) {
  clock_.advance(milliseconds(10));
  ASSERT_TRUE(ask(Operation::kAuthorize, "with", 3).charged);
  take_back({clock_.now(), 3});
  EXPECT_EQ(left("with"), 10);
  ASSERT_TRUE(ask(Operation::kAuthorize, "with", 4).charged);
  const Instant at = clock_.now();
  clock_.advance(milliseconds(1));
  ASSERT_TRUE(ask(Operation::kAuthorize, "with", 2).charged);
  take_back({at, 4});
  EXPECT_EQ(left("with"), 8) << "time has given back the rest";
}

// Whatever others are charged meanwhile, and whenever it is done.
TEST_P(TakeBack, NeverAdmitsMoreThanWithoutTheCharge) {
  if (std::string_view(GetParam().name) == "First") {
    GTEST_SKIP() << "the windows of the two begin at different times";
  }
  std::mt19937 random(7);
  std::vector<Taken> pending;
  int given = 0;
  for (int i = 0; i < 1000; ++i) {
    clock_.advance(std::chrono::nanoseconds(random() % 90'000'000));
    const auto cost = static_cast<std::int64_t>(1 + random() % 3);
    const std::size_t chosen = pending.empty() ? 0 : random() % pending.size();
    if (!pending.empty() && (random() % 2 == 0 || pending.size() == 4)) {
      const std::int64_t before = left("with");
      take_back(pending[chosen]);
      given += left("with") > before ? 1 : 0;
      pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(chosen));
    } else if (ask(Operation::kAuthorize, "with", cost).charged) {
      if (random() % 2 == 0) {
        pending.push_back({clock_.now(), cost});
      } else {
        ASSERT_TRUE(ask(Operation::kAuthorize, "without", cost).charged) << i;
      }
    }
    ASSERT_LE(left("with"), left("without")) << i;
  }
  EXPECT_GT(given, 50);
}

INSTANTIATE_TEST_SUITE_P(
    Scripts, TakeBack,
    testing::Values(Case{"Gcra", Algorithm::kGcra},
                    Case{"Fixed", Algorithm::kFixedWindow},
                    Case{"First", Algorithm::kFixedWindow,
                         [](Rules* rules) { rules->align = Align::kFirst; }},
                    Case{"Tail", Algorithm::kSlidingTail},
                    Case{"TailUp", Algorithm::kSlidingTail,
                         [](Rules* rules) { rules->round_up = true; }},
                    Case{"Step", Algorithm::kLeakyStep},
                    Case{"Log", Algorithm::kSlidingLog},
                    Case{"Window", Algorithm::kSlidingWindow},
                    Case{"HeldGcra", Algorithm::kGcra, hold},
                    Case{"HeldFixed", Algorithm::kFixedWindow, hold}),
    [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace limitree::redis::take_back_test
