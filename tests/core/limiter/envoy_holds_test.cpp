// Requests of Envoy that hold until they have ended.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/limiter/envoy_fixture.hpp"

namespace limitree {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kHolds =
    "domain: d\n"
    "descriptors:\n"
    "- {key: id, value_to_hold: true, rate_limit: {concurrent: 2, hold: 30s}}\n"
    "- key: t\n"
    "  descriptors:\n"
    "  - {key: id, value_to_hold: true,\n"
    "     rate_limit: {unit: hour, requests_per_unit: 1000, hold: 10m}}\n"
    "- {key: n, rate_limit: {unit: hour, requests_per_unit: 3}}\n"
    "- {key: none, rate_limit: {unit: hour}}\n";

class EnvoyHoldsTest : public EnvoyTest {
 protected:
  void SetUp() override { make(kHolds); }
};

TEST_F(EnvoyHoldsTest, SlotsAreFreedByName) {
  EXPECT_EQ(path_cost({"id=1"}), "OK: ok 1");
  EXPECT_TRUE(answer.holds);
  EXPECT_EQ(path_cost({"id=2"}), "OK: ok 0");
  EXPECT_EQ(path_cost({"id=3"}), "OVER: over 0");
  EXPECT_FALSE(answer.holds);
  EXPECT_EQ(answer.statuses[0].requests_per_unit, 2U);
  EXPECT_EQ(answer.statuses[0].outcome.retry_after, seconds(30));
  // The end of a denied request frees nothing, nor does one that comes twice.
  EXPECT_EQ(path_cost({"id=3;back"}), "OK: ok 0");
  EXPECT_EQ(path_cost({"id=1;back"}), "OK: ok 1");
  EXPECT_EQ(path_cost({"id=1;back"}), "OK: ok 1");
  EXPECT_FALSE(answer.holds);
  EXPECT_EQ(path_cost({"id=3"}), "OK: ok 0");
  EXPECT_EQ(path_cost({"id=4"}), "OVER: over 0");
  const HitTally counted = tally("d.id");
  EXPECT_EQ(counted.total_hits, 5);
  EXPECT_EQ(counted.over_limit, 2);
  EXPECT_EQ(counted.total_negative_hits, 3);
}

TEST_F(EnvoyHoldsTest, ASlotEndsByItself) {
  EXPECT_EQ(path_cost({"id=1"}), "OK: ok 1");
  clock.advance(seconds(20));
  EXPECT_EQ(path_cost({"id=2"}), "OK: ok 0");
  clock.advance(seconds(10));
  EXPECT_EQ(path_cost({"id=3"}), "OK: ok 0");
  EXPECT_EQ(path_cost({"id=4"}), "OVER: over 0");
  EXPECT_EQ(answer.statuses[0].outcome.retry_after, seconds(20));
}

TEST_F(EnvoyHoldsTest, HitsOfZeroOnlyLook) {
  EXPECT_EQ(path_cost({"id=1;hits=0"}), "OK: ok 2");
  EXPECT_FALSE(answer.holds);
  EXPECT_EQ(path_cost({"id=1;hits=2"}), "OK: ok 0");
  EXPECT_EQ(path_cost({"id=2;hits=0"}), "OK: ok 0");
  EXPECT_EQ(path_cost({"id=1;hits=0;back"}), "OK: ok 2");
}

TEST_F(EnvoyHoldsTest, BudgetsAreSettled) {
  EXPECT_EQ(path_cost({"t=1,id=1;hits=600"}), "OK: ok 400");
  EXPECT_EQ(path_cost({"t=1,id=2;hits=401"}), "OVER: over 400");
  EXPECT_EQ(path_cost({"t=2,id=2;hits=401"}), "OK: ok 599");
  EXPECT_EQ(path_cost({"t=1,id=3;hits=400"}), "OK: ok 0");
  EXPECT_EQ(path_cost({"t=1,id=1;hits=50;back"}), "OK: ok 550");
  // Nobody says how much was used: as held.
  EXPECT_EQ(path_cost({"t=1,id=3;back"}), "OK: ok 550");
  EXPECT_EQ(path_cost({"t=1,id=3;hits=0;back"}), "OK: ok 550");
  // More than was held.
  EXPECT_EQ(path_cost({"t=1,id=4;hits=500"}), "OK: ok 50");
  EXPECT_EQ(path_cost({"t=1,id=4;hits=540;back"}), "OK: ok 10");
}

TEST_F(EnvoyHoldsTest, WhatIsNotSettledIsCharged) {
  EXPECT_EQ(path_cost({"t=1,id=1;hits=600"}), "OK: ok 400");
  clock.advance(minutes(10));
  EXPECT_EQ(path_cost({"t=1,id=1;hits=0;back"}), "OK: ok 400");
}

TEST_F(EnvoyHoldsTest, AllActsOfOneRequest) {
  EXPECT_EQ(path_cost({"id=1", "t=1,id=1;hits=900", "n=1"}),
            "OK: ok 1, ok 100, ok 2");
  EXPECT_EQ(path_cost({"id=1;back", "t=1,id=1;hits=100;back", "n=1;back",
                       "n=2;hits=2", "none=1;back"}),
            "OK: ok 2, ok 900, ok 3, ok 1, ok 0");
  // Each descriptor decides for itself.
  EXPECT_EQ(path_cost({"id=2", "none=1"}), "OVER: ok 1, over 0");
  EXPECT_TRUE(answer.holds);
}

TEST_F(EnvoyHoldsTest, ARequestHasOneName) {
  EXPECT_EQ(path_cost({"id=1", "t=1,id=2"}),
            R"(two descriptors name what is held, "1" and "2")");
  EXPECT_EQ(path_cost({"id=1;hits=0"}), "OK: ok 2");
}

TEST_F(EnvoyHoldsTest, AllOrNothing) {
  make("all_or_nothing: true\n" + std::string(kHolds));
  EXPECT_EQ(path_cost({"id=1", "n=1;hits=3"}), "OK: ok 1, ok 0");
  EXPECT_EQ(path_cost({"id=2", "n=1"}), "OVER: ok 1, over 0");
  EXPECT_FALSE(answer.holds);
  EXPECT_EQ(path_cost({"id=2", "none=1"}), "OVER: ok 1, over 0");
  EXPECT_FALSE(answer.holds);
  EXPECT_EQ(path_cost({"id=1;back", "n=1;back;hits=3"}), "OK: ok 2, ok 3");
}

TEST_F(EnvoyHoldsTest, ARuleThatDeniesStopsTheOthers) {
  options.stop_increment = Stop::kOn;
  options.over_cache_size = 100;
  make(kHolds);
  EXPECT_EQ(path_cost({"n=1;hits=3"}), "OK: ok 0");
  for (int i = 0; i < 3; ++i) {  // the last from the cache
    EXPECT_EQ(path_cost({"id=1", "n=1"}).substr(0, 5), "OVER:");
    EXPECT_FALSE(answer.holds);
  }
  EXPECT_EQ(path_cost({"id=1;hits=0"}), "OK: ok 2");
}

TEST_F(EnvoyHoldsTest, ShadowModeHoldsWhatFits) {
  make(
      "domain: d\n"
      "descriptors:\n"
      "- {key: id, value_to_hold: true, shadow_mode: true,\n"
      "   rate_limit: {concurrent: 1, hold: 30s}}\n");
  EXPECT_EQ(path_cost({"id=1"}), "OK: ok 0");
  EXPECT_EQ(path_cost({"id=2"}), "OK: ok 0");
  EXPECT_TRUE(answer.statuses[0].shadowed);
  EXPECT_FALSE(answer.holds);
  EXPECT_EQ(path_cost({"id=2;back"}), "OK: ok 0");
  EXPECT_EQ(path_cost({"id=1;back"}), "OK: ok 1");
}

class Counted final : public Listener {
 public:
  explicit Counted(StoreLoop* loop) : Listener(loop) {}

  void decided(Status, const Decision&, const LevelReports&) noexcept override {
    ADD_FAILURE();
  }
  void answered(Status status, EnvoyAnswer* answer) noexcept override {
    texts.push_back(status.ok() ? text_of(*answer) : status.message());
    holds = status.ok() && answer->holds;
  }

  std::vector<std::string> texts;
  bool holds = false;
};

TEST_F(EnvoyHoldsTest, LaterInThreeQuestions) {
  make(kHolds, true);
  const std::unique_ptr<StoreLoop> loop = limiter->new_loop();
  Counted answers(loop.get());
  const auto ask = [&](const std::vector<std::string>& descriptors) {
    EnvoyRequest request("d", descriptors);
    Status status;
    EXPECT_FALSE(limiter->should_rate_limit_async(request.get(), &answer,
                                                  &answers, &status));
  };
  EXPECT_EQ(path_cost({"id=1", "n=1"}), "OK: ok 1, ok 2");
  store->answers_later = true;
  ask({"id=1;back", "n=1;back", "n=2"});
  EXPECT_EQ(store->queue.size(), 3U);
  ask({"id=2"});
  loop->run();
  EXPECT_EQ(answers.texts,
            (std::vector<std::string>{"OK: ok 2, ok 3, ok 2", "OK: ok 1"}));
  EXPECT_TRUE(answers.holds);
  ask({"id=2;back"});
  loop->run();
  EXPECT_EQ(answers.texts.back(), "OK: ok 2");
  EXPECT_FALSE(answers.holds);
}

}  // namespace
}  // namespace limitree
