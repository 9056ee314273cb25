// The vectors of envoy.json that are about counting, over each store.  Which
// limit a descriptor has is taken from the expected status, so nothing is
// matched here: descriptors become levels directly.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/decision.hpp"
#include "base/plan.hpp"
#include "base/time.hpp"
#include "core/base/hits.hpp"
#include "core/store/manual_clock.hpp"
#include "core/store/memcached/memcached_server.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/script_store.hpp"
#include "store/decorators/over_cache.hpp"
#include "store/memcached/memcached_store.hpp"
#include "store/memory/memory_store.hpp"

namespace limitree::conformance::hit_conformance_test {
namespace {

using nlohmann::json;

// A vector, and how its limits are charged.
struct HitVector {
  const char* name;
  Charge charge = Charge::kEveryHit;
  Mode mode = Mode::kEnforce;
  bool cached = false;
};

constexpr HitVector kHitVectors[] = {
    {"hits_addend_zero_is_peek_and_ok_at_exact_limit"},
    {"request_hits_addend_zero_means_one"},
    {"units_and_reset"},
    {"every_descriptor_is_charged_even_if_another_denies"},
    {"stop_increment_flag", Charge::kAllOrDenying},
    {"shadow_mode", Charge::kEveryHit, Mode::kShadow},
    {"local_cache", Charge::kEveryHit, Mode::kEnforce, true},
    {"override_limit"},
    {"wildcard_without_share_threshold"},
};

const json& vector_of(const std::string& name) {
  static const json file = [] {
    std::ifstream in(LIMITREE_CONFORMANCE "/envoy.json");
    if (!in) throw std::runtime_error("envoy.json is missing");
    return json::parse(in);
  }();
  for (const json& one : file.at("vectors")) {
    if (one.at("name") == name) return one;
  }
  throw std::runtime_error("envoy.json has no " + name);
}

Duration period_of(const std::string& unit) {
  static const std::map<std::string, std::int64_t> kSeconds = {
      {"SECOND", 1},    {"MINUTE", 60},     {"HOUR", 3600},    {"DAY", 86400},
      {"WEEK", 604800}, {"MONTH", 2592000}, {"YEAR", 31536000}};
  return std::chrono::seconds(kSeconds.at(unit));
}

class HitRunner {
 public:
  HitRunner(const HitVector& vector, Store* store, ManualClock* clock)
      : vector_(vector), store_(*store), clock_(*clock) {
    if (vector.cached) cache_.emplace(1000, clock->clock());
  }

  void run(const json& step) {
    const json& request = step.at("request");
    const json& expected = step.at("expect");
    clock_.set(
        Instant(std::chrono::seconds(request.at("now").get<std::int64_t>())));
    Plan plan(Operation::kAuthorize);
    for (std::size_t i = 0; i < request.at("descriptors").size(); ++i) {
      const json& status = expected.at("statuses")[i];
      if (!status.contains("current_limit")) continue;
      add(request, i, status.at("current_limit"), &plan);
    }
    OverCache::CachedLevels known;
    Checkpoint checkpoint;
    if (cache_) checkpoint = cache_->take_cached(&plan, &known);
    if (!plan.levels.empty()) {
      ASSERT_TRUE(store_.decide(&plan).ok());
      EXPECT_EQ(known.empty() && aggregate(plan).limited,
                known.empty() && expected.at("overall") == "OVER_LIMIT");
    }
    if (cache_) cache_->learn(plan, checkpoint);
    for (const Level& level : plan.levels) {
      expect(level, expected.at("statuses")[level.path]);
      count(level);
    }
    for (const Level& level : known) {
      expect(level, expected.at("statuses")[level.path]);
      stats_["total_hits"] += level.cost;
      stats_["over_limit"] += level.cost;
      stats_["over_limit_with_local_cache"] += level.cost;
    }
  }

  // The counters that the vector leaves, and its statistics, summed over the
  // limits.
  void expect_end(const json& test) {
    std::map<std::string, std::int64_t> left;
    for (const auto& [name, limit] : met_) {
      Plan plan(Operation::kPeek);
      plan.segments.emplace_back(name, Segment::Kind::kCaller);
      plan.add_level(limit, 0, 1, 0);
      ASSERT_TRUE(store_.decide(&plan).ok());
      const auto window =
          floor_to(clock_.now(), limit->period).time_since_epoch() /
          std::chrono::seconds(1);
      left[name + "_" + std::to_string(window)] = plan.levels[0].before;
    }
    EXPECT_EQ(json(left), test.at("counters"));
    std::map<std::string, std::int64_t> stats;
    for (const auto& [name, value] : test.at("stats").items()) {
      const std::string stat = name.substr(name.rfind('.') + 1);
      if (stat != "domain_not_found") stats[stat] += value.get<int64_t>();
    }
    std::erase_if(stats_, [](const auto& one) { return one.second == 0; });
    EXPECT_EQ(stats_, stats);
  }

 private:
  void add(const json& request, std::size_t i, const json& current,
           Plan* plan) {
    const json& descriptor = request.at("descriptors")[i];
    std::string name = request.at("domain");
    for (const json& entry : descriptor.at("entries")) {
      name +=
          "_" + entry[0].get<std::string>() + "_" + entry[1].get<std::string>();
    }
    const Limit*& limit = met_[name];
    if (limit == nullptr) {
      limits_.push_back(make_counter(current[0], period_of(current[1])));
      limits_.back().charge = vector_.charge;
      limits_.back().mode = vector_.mode;
      limit = &limits_.back();
    }
    const std::int64_t common =
        std::max(request.at("hits_addend").get<std::int64_t>(), int64_t{1});
    const auto first = static_cast<std::uint32_t>(plan->segments.size());
    plan->segments.emplace_back(met_.find(name)->first, Segment::Kind::kCaller);
    plan->add_level(limit, first, 1u, descriptor.value("hits_addend", common));
    plan->levels.back().path = static_cast<std::uint32_t>(i);
  }

  void expect(const Level& level, const json& status) {
    const Verdict& verdict = level.verdict;
    const bool denied = verdict.limited && counts(level.mode);
    EXPECT_EQ(json(denied ? "OVER_LIMIT" : "OK"), status.at("code"));
    EXPECT_EQ(json(verdict.remaining), status.at("remaining"));
    EXPECT_EQ(json(verdict.reset_after / std::chrono::seconds(1)),
              status.at("reset"));
  }

  // The statistics, from what the level says it has counted.
  void count(const Level& level) {
    const std::int64_t limit = level.limit->rate.capacity;
    const auto near =
        static_cast<std::int64_t>(static_cast<float>(limit) * 0.8F);
    const std::int64_t after =
        level.applied ? hits_of(level).after : level.before;
    const std::int64_t before = after - level.cost;
    stats_["total_hits"] += level.cost;
    if (after <= limit) {
      stats_["within_limit"] += level.cost;
      if (after > near) stats_["near_limit"] += after - std::max(near, before);
      return;
    }
    const std::int64_t over = after - std::max(limit, before);
    stats_["over_limit"] += over;
    if (before < limit) stats_["near_limit"] += limit - std::max(near, before);
    if (!counts(level.mode)) stats_["shadow_mode"] += over;
  }

  const HitVector& vector_;
  Store& store_;
  ManualClock& clock_;
  std::optional<OverCache> cache_;
  std::deque<Limit> limits_;
  std::map<std::string, const Limit*> met_;
  std::map<std::string, std::int64_t> stats_;
};

void run_vector(const HitVector& vector, Store* store, ManualClock* clock) {
  const json test = vector_of(vector.name);
  HitRunner runner(vector, store, clock);
  for (const json& step : test.at("steps")) {
    SCOPED_TRACE(step.dump());
    runner.run(step);
  }
  runner.expect_end(test);
}

class HitConformance : public testing::TestWithParam<HitVector> {};

TEST_P(HitConformance, Memory) {
  ManualClock clock;
  MemoryStore store(1000, clock.clock());
  run_vector(GetParam(), &store, &clock);
}

TEST_P(HitConformance, Scripts) {
  static const redis::RedisServer server;
  ManualClock clock;
  redis::ScriptStore store(server, [&clock] { return clock.now(); });
  store.send_words({"FLUSHALL"});
  run_vector(GetParam(), &store, &clock);
}

TEST_P(HitConformance, Memcached) {
  static const memcached::MemcachedServer server;
  ManualClock clock;
  memcached::MemcachedStore store(
      memcached::store_settings("memcached://" + server.host()), clock.clock());
  run_vector(GetParam(), &store, &clock);
}

INSTANTIATE_TEST_SUITE_P(Envoy, HitConformance, testing::ValuesIn(kHitVectors),
                         [](const auto& one) {
                           return std::string(one.param.name);
                         });

}  // namespace
}  // namespace limitree::conformance::hit_conformance_test
