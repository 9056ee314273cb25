#include "stats/rate_history.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "limitree.hpp"

namespace limitree::server {
namespace {

// `count` top-level names n0, n1, ... of one request an hour each.
std::string names(std::size_t count) {
  std::string yaml = "schema:\n";
  for (std::size_t i = 0; i < count; ++i) {
    yaml += "  n" + std::to_string(i) + ": {limits: 1/hour}\n";
  }
  return yaml;
}

Limiter make(const std::string& yaml) {
  Config config;
  config.set_limits(yaml, "limits.yaml");
  return Limiter(config);
}

void ask(Limiter* limiter, const std::string& name) {
  const limitree_str segment = to_str(name);
  limiter->authorize({&segment, 1});
}

void ask_envoy(Limiter* limiter, const char* key) {
  const limitree_entry entry = {to_str(key), to_str("x")};
  limitree_descriptor descriptor{};
  descriptor.entries = &entry;
  descriptor.entry_count = 1;
  limitree_envoy_request request{};
  request.domain = to_str("web");
  request.descriptors = &descriptor;
  request.descriptor_count = 1;
  limitree_descriptor_status status;
  limitree_envoy_response response;
  EXPECT_EQ(limitree_should_rate_limit(limiter->get(), &request, &status, 1,
                                       &response, nullptr),
            LIMITREE_OK);
}

std::map<std::string, RateHistory::Ring> rings(const RateHistory& history) {
  std::map<std::string, RateHistory::Ring> all;
  history.each([&all](std::string_view name, const RateHistory::Ring& ring) {
    all[std::string(name)] = ring;
  });
  return all;
}

TEST(RateHistory, HasWhatWasCountedInEachInterval) {
  Limiter limiter = make(
      "schema:\n  a: {limits: 2/hour}\n  b: {mode: shadow, limits: 1/hour}\n");
  ask(&limiter, "a");  // before the first sample
  RateHistory history;
  history.sample(limiter.get());
  EXPECT_EQ(history.size(), 0U);
  EXPECT_TRUE(rings(history).empty());
  for (int i = 0; i < 3; ++i) ask(&limiter, "a");
  for (int i = 0; i < 3; ++i) ask(&limiter, "b");
  history.sample(limiter.get());
  history.sample(limiter.get());
  EXPECT_EQ(history.size(), 2U);
  const auto all = rings(history);
  ASSERT_EQ(all.size(), 2U);
  constexpr std::size_t kBefore = RateHistory::kIntervals - 2;
  EXPECT_EQ(all.at("a")[kBefore].allowed, 1);
  EXPECT_EQ(all.at("a")[kBefore].limited, 2);
  EXPECT_EQ(all.at("b")[kBefore].shadowed, 2);
  EXPECT_TRUE(all.at("a").back().is_idle());
  EXPECT_EQ(history.all()[kBefore].limited, 2);
  EXPECT_EQ(history.all()[kBefore].allowed, 4);
  EXPECT_EQ(history.all()[kBefore].shadowed, 2);
}

// Those beyond the most with a history count together, and get the place of
// one that nobody has met for a whole ring.
TEST(RateHistory, IsBounded) {
  constexpr std::size_t kMost = RateHistory::kMostLimits;
  Limiter limiter = make(names(kMost + 2));
  RateHistory history;
  history.sample(limiter.get());
  for (std::size_t i = 0; i < kMost + 2; ++i) {
    ask(&limiter, "n" + std::to_string(i));
  }
  history.sample(limiter.get());
  EXPECT_EQ(rings(history).size(), kMost);
  EXPECT_EQ(history.others().back().allowed, 2);
  for (std::size_t i = 0; i < RateHistory::kIntervals; ++i) {
    history.sample(limiter.get());
  }
  EXPECT_EQ(history.size(), RateHistory::kIntervals);
  const std::string last = "n" + std::to_string(kMost + 1);
  EXPECT_FALSE(rings(history).contains(last));
  ask(&limiter, last);
  history.sample(limiter.get());
  EXPECT_EQ(rings(history).at(last).back().limited, 1);
  EXPECT_EQ(rings(history).size(), kMost);
  EXPECT_TRUE(history.others().back().is_idle());
}

TEST(RateHistory, LeavesOutTheLimitsOfAHugeTree) {
  Limiter limiter = make(names(RateHistory::kMostRead + 1));
  RateHistory history;
  history.sample(limiter.get());
  ask(&limiter, "n0");
  history.sample(limiter.get());
  EXPECT_FALSE(history.reads_limits());
  EXPECT_TRUE(rings(history).empty());
  EXPECT_EQ(history.all().back().allowed, 1);
  // What was not read before is not of the interval in which it is.
  limiter.reload(names(1), "limits.yaml");
  history.sample(limiter.get());
  EXPECT_TRUE(history.reads_limits());
  EXPECT_TRUE(rings(history).empty());
  // The limiter knows the others still.
  history.sample(limiter.get());
  EXPECT_FALSE(history.reads_limits());
}

// In a service in shadow rules deny nothing, and count what they would deny.
TEST(RateHistory, HasRulesInShadow) {
  constexpr std::string_view kRules =
      "domain: web\n"
      "descriptors:\n"
      "  - {key: user, rate_limit: {unit: day, requests_per_unit: 1}}\n"
      "  - {key: plan, rate_limit: {unit: day, requests_per_unit: 1}, "
      "shadow_mode: true}\n";
  for (const bool shadow : {false, true}) {
    Config config;
    const std::array files = {limitree_file{to_str(kRules), to_str("r.yaml")}};
    config.add_descriptors(files);
    config.set("shadow_mode", shadow ? "on" : "off");
    Limiter limiter(config);
    RateHistory history(shadow);
    history.sample(limiter.get());
    for (int i = 0; i < 3; ++i) ask_envoy(&limiter, "user");
    ask_envoy(&limiter, "plan");
    ask_envoy(&limiter, "plan");
    history.sample(limiter.get());
    const LimitCounts user = rings(history).at("web.user").back();
    EXPECT_EQ(user.allowed, 1);
    EXPECT_EQ(user.limited, shadow ? 0 : 2);
    EXPECT_EQ(user.shadowed, shadow ? 2 : 0);
    const LimitCounts plan = rings(history).at("web.plan").back();
    EXPECT_EQ(plan.limited, 0);
    EXPECT_EQ(plan.shadowed, 1);
    const LimitCounts all = history.all().back();
    EXPECT_EQ(all.limited, shadow ? 0 : 2);
    // Each request counts once.
    EXPECT_EQ(all.shadowed, shadow ? 2 : 0);
  }
}

}  // namespace
}  // namespace limitree::server
