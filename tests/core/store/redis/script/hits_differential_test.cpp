// Random hits on counters: the scripts and the memory store count them as a map
// of sums does, in every layout and in the scripts for several requests.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/plan.hpp"
#include "base/time.hpp"
#include "core/base/hits.hpp"
#include "core/store/manual_clock.hpp"
#include "core/store/redis/frozen_script.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/script_store.hpp"
#include "store/memory/memory_store.hpp"

namespace limitree::redis::hits_differential_test {
namespace {

constexpr std::string_view kNames[] = {"a", "b", "c", "d"};

// The counters as sums.
class Sums {
 public:
  std::int64_t used(const std::string& name, Instant window) const {
    const auto found = sums_.find(name);
    if (found == sums_.end() || found->second.first != window) return 0;
    return found->second.second;
  }
  void set(const std::string& name, Instant window, std::int64_t units) {
    sums_[name] = {window, units};
  }

 private:
  std::map<std::string, std::pair<Instant, std::int64_t>> sums_;
};

class HitsDifferential : public testing::Test {
 protected:
  HitsDifferential() {
    for (const std::int64_t count : {0, 1, 5, 40}) {
      limits_.push_back(make_counter(count, kPeriod));
      limits_.back().suffix = SharedText("#" + std::to_string(count) + "!fw");
    }
    limits_[3].mode = Mode::kShadow;
  }

  std::int64_t up_to(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random_);
  }

  static std::string name_of(const Plan& plan, const Level& level) {
    return std::string(plan.segments[level.first].text) +
           level.limit->suffix.str();
  }

  // One to five counters, no bucket twice.
  void fill(std::int64_t usual_cost, Plan* plan) {
    const std::int64_t count = 1 + up_to(4);
    std::map<std::pair<std::int64_t, std::int64_t>, bool> taken;
    while (static_cast<std::int64_t>(plan->levels.size()) < count) {
      const std::int64_t name = up_to(3);
      const std::int64_t limit = up_to(3);
      if (std::exchange(taken[{name, limit}], true)) continue;
      const auto first = static_cast<std::uint32_t>(plan->segments.size());
      plan->segments.emplace_back(kNames[name], Segment::Kind::kCaller);
      const std::int64_t cost = usual_cost >= 0  ? usual_cost
                                : up_to(30) == 0 ? kMaxUnits
                                                 : up_to(3);
      plan->add_level(&limits_[static_cast<std::size_t>(limit)], first, 1u,
                      cost);
    }
  }

  static void copy(const Plan& from, Plan* to) {
    for (const Segment& one : from.segments) to->segments.push_back(one);
    for (const Level& level : from.levels) {
      to->add_level(level.limit, level.first, level.depth, level.cost);
    }
  }

  // Expects the verdicts of a plan to be those of the sums, before they count
  // it.
  void expect(const Plan& plan) const {
    const Instant window = floor_to(clock_.now(), kPeriod);
    const bool decides = plan.operation == Operation::kAuthorize ||
                         plan.operation == Operation::kPeek;
    for (const Level& level : plan.levels) {
      const std::int64_t used = sums_.used(name_of(plan, level), window);
      const std::int64_t count = level.limit->rate.capacity;
      SCOPED_TRACE(name_of(plan, level));
      ASSERT_EQ(level.before, used);
      ASSERT_EQ(level.verdict.limited, decides && used + level.cost > count);
      ASSERT_EQ(level.verdict.reset_after, window + kPeriod - clock_.now());
      if (!decides) continue;
      const Hits hits = hits_of(level);
      ASSERT_EQ(hits.exceeds(count), level.verdict.limited);
      ASSERT_EQ(hits.remaining(count), level.verdict.remaining);
    }
  }
  void count(const Plan& plan) {
    if (plan.operation == Operation::kPeek) return;
    const Instant window = floor_to(clock_.now(), kPeriod);
    for (const Level& level : plan.levels) {
      const std::string name = name_of(plan, level);
      const std::int64_t used = sums_.used(name, window);
      const std::int64_t after =
          plan.operation == Operation::kRefund
              ? std::max(used - level.cost, std::int64_t{0})
              : std::min(used + level.cost, kMaxUnits);
      if (level.cost > 0) sums_.set(name, window, after);
    }
  }

  static constexpr Duration kPeriod = std::chrono::milliseconds(100);

  std::mt19937 random_{3};
  std::vector<Limit> limits_;
  ManualClock clock_;
  MemoryStore memory_{1000, clock_.clock()};
  const RedisServer server_;
  ScriptStore script_{server_, [this]() -> Now { return clock_.now(); }};
  Sums sums_;
};

TEST_F(HitsDifferential, CountsAsSumsDo) {
  constexpr Operation kOperations[] = {
      Operation::kAuthorize, Operation::kAuthorize, Operation::kAuthorize,
      Operation::kPeek,      Operation::kSpend,     Operation::kRefund};
  int limited = 0;
  for (int i = 0; i < 3000; ++i) {
    clock_.advance(Duration(up_to(4'000'000)));
    Plan one(kOperations[up_to(5)]);
    fill(-1, &one);
    Plan two(one.operation);
    copy(one, &two);
    ASSERT_TRUE(memory_.decide(&one).ok());
    ASSERT_TRUE(script_.decide(&two).ok());
    SCOPED_TRACE("request " + std::to_string(i));
    expect(one);
    expect(two);
    if (HasFatalFailure()) return;
    bool any = false;
    for (std::size_t k = 0; k < one.levels.size(); ++k) {
      const Verdict& verdict = two.levels[k].verdict;
      ASSERT_EQ(one.levels[k].verdict.charged, verdict.charged);
      any |= verdict.charged;
      limited += verdict.limited;
    }
    ASSERT_EQ(script_.charged(), any);
    count(one);
    for (const Level& level : two.levels) {
      const std::int64_t left =
          sums_.used(name_of(two, level), floor_to(clock_.now(), kPeriod));
      const Address address = address_of(two, level, ScriptStore::kPrefix);
      const Reply stored =
          script_.send_words({"HGET", address.key, address.field});
      const std::string text =
          stored->type == REDIS_REPLY_STRING ? stored->str : "0:0";
      const std::string units = text.substr(text.find(':') + 1);
      if (level.verdict.charged) {
        ASSERT_EQ(units, std::to_string(left)) << text;
      }
    }
  }
  EXPECT_GT(limited, 1000);
}

// Counters of Charge::kAllOrDenying, several of which may be one.
class StopDifferential : public HitsDifferential {
 protected:
  StopDifferential() {
    for (Limit& limit : limits_) {
      limit.charge = Charge::kAllOrDenying;
      limit.suffix = "!fw";
      limit.mode = Mode::kEnforce;
    }
  }

  // One to six counters.
  void fill(Plan* plan) {
    for (std::int64_t count = 1 + up_to(5); count > 0; --count) {
      const auto first = static_cast<std::uint32_t>(plan->segments.size());
      plan->segments.emplace_back(kNames[up_to(3)], Segment::Kind::kCaller);
      const auto limit = static_cast<std::size_t>(1 + up_to(2));
      plan->add_level(&limits_[limit], first, 1u, up_to(4));
    }
    plan->denied = up_to(4) == 0;
  }

  // What denies by itself is counted, and everything else if nothing does.
  void expect_and_count(const Plan& plan) {
    const Instant window = floor_to(clock_.now(), kPeriod);
    bool denied = plan.denied;
    for (const Level& level : plan.levels) {
      const std::int64_t used = sums_.used(name_of(plan, level), window);
      ASSERT_EQ(level.before, used);
      ASSERT_EQ(level.verdict.limited,
                used + level.cost > level.limit->rate.capacity);
      denied |= level.verdict.limited;
    }
    for (const Level& level : plan.levels) {
      const bool counted = level.cost > 0 && (!denied || level.verdict.limited);
      ASSERT_EQ(level.verdict.charged,
                counted && plan.operation == Operation::kAuthorize);
      if (!level.verdict.charged) continue;
      const std::string name = name_of(plan, level);
      sums_.set(name, window, sums_.used(name, window) + level.cost);
    }
  }

  std::int64_t stored(const Plan& plan, const Level& level) {
    const Address address = address_of(plan, level, ScriptStore::kPrefix);
    const Reply reply =
        script_.send_words({"HGET", address.key, address.field});
    if (reply->type != REDIS_REPLY_STRING) return 0;
    const std::string text = reply->str;
    return std::stoll(text.substr(text.find(':') + 1));
  }
};

TEST_F(StopDifferential, CountsOneCounterSeveralTimes) {
  int again = 0;
  int limited = 0;
  for (int i = 0; i < 3000; ++i) {
    clock_.advance(Duration(up_to(8'000'000)));
    Plan one(up_to(5) == 0 ? Operation::kPeek : Operation::kAuthorize);
    fill(&one);
    Plan two(one.operation);
    copy(one, &two);
    two.denied = one.denied;
    ASSERT_TRUE(join_same_buckets(&one).ok());
    ASSERT_TRUE(join_same_buckets(&two).ok());
    ASSERT_EQ(one.levels.size(), one.segments.size()) << "they stay apart";
    ASSERT_TRUE(memory_.decide(&one).ok());
    ASSERT_TRUE(script_.decide(&two).ok());
    SCOPED_TRACE("request " + std::to_string(i));
    for (std::size_t k = 0; k < one.levels.size(); ++k) {
      const Level& level = two.levels[k];
      ASSERT_EQ(one.levels[k].before, level.before);
      ASSERT_EQ(one.levels[k].verdict.charged, level.verdict.charged);
      again += level.again;
      limited += level.verdict.limited;
    }
    expect_and_count(one);
    if (HasFatalFailure()) return;
    for (const Level& level : two.levels) {
      if (!level.verdict.charged) continue;
      ASSERT_EQ(
          stored(two, level),
          sums_.used(name_of(two, level), floor_to(clock_.now(), kPeriod)));
    }
  }
  EXPECT_GT(again, 1000);
  EXPECT_GT(limited, 1000);
}

// A cluster takes back what was charged in vain, level by level.
TEST_F(StopDifferential, GivesOneCounterBackSeveralTimes) {
  int again = 0;
  for (int i = 0; i < 500; ++i) {
    clock_.advance(Duration(up_to(8'000'000)));
    Plan charged(Operation::kAuthorize);
    fill(&charged);
    charged.denied = false;
    ASSERT_TRUE(join_same_buckets(&charged).ok());
    ASSERT_TRUE(script_.decide(&charged).ok());
    expect_and_count(charged);
    if (HasFatalFailure()) return;
    Plan back(Operation::kRefund);
    for (const Segment& one : charged.segments) back.segments.push_back(one);
    const Instant window = floor_to(clock_.now(), kPeriod);
    for (const Level& level : charged.levels) {
      if (up_to(1) == 0) continue;
      back.add_level(level.limit, level.first, level.depth, level.cost);
      again += level.again;
    }
    if (back.levels.empty()) continue;
    ASSERT_TRUE(script_.decide(&back).ok());
    for (const Level& level : back.levels) {
      const std::string name = name_of(back, level);
      const std::int64_t used = sums_.used(name, window);
      if (level.before == 0) continue;  // perhaps of an earlier window
      sums_.set(name, window, std::max(used - level.cost, std::int64_t{0}));
    }
    for (const Level& level : back.levels) {
      if (level.before == 0) continue;
      ASSERT_EQ(stored(back, level), sums_.used(name_of(back, level), window));
    }
  }
  EXPECT_GT(again, 100);
}

// Several requests in one call are counted as if each had its own call.
TEST_F(HitsDifferential, ScriptsForSeveralCountAsSumsDo) {
  int limited = 0;
  for (int round = 0; round < 500; ++round) {
    clock_.advance(std::chrono::microseconds(up_to(4000)));
    Plan plan(Operation::kAuthorize);
    fill(1, &plan);
    const std::vector<std::uint32_t> levels = ScriptStore::all_levels(plan);
    const Families families(plan, levels);
    const auto requests = static_cast<std::size_t>(1 + up_to(3));
    const Reply reply =
        script_.send(frozen_script(plan, families, requests, clock_.now()));
    ASSERT_EQ(reply->type, REDIS_REPLY_ARRAY) << reply->str;
    ASSERT_EQ(reply->elements, requests);
    for (std::size_t i = 0; i < requests; ++i) {
      Plan two(Operation::kAuthorize);
      copy(plan, &two);
      Usages usages;
      usages.resize(levels.size());
      bool charged = false;
      ASSERT_TRUE(
          Call::read_reply(*reply->element[i], &two, levels, &charged, &usages)
              .ok())
          << reply->element[i]->str;
      judge(two.operation, two.levels.data(), two.levels.size());
      ASSERT_TRUE(charged);
      expect(two);
      if (HasFatalFailure()) return;
      count(two);
      limited += two.levels[0].verdict.limited;
    }
  }
  EXPECT_GT(limited, 100);
}

}  // namespace
}  // namespace limitree::redis::hits_differential_test
