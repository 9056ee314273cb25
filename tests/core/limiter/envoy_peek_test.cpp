// Requests of Envoy that only look, and that reset.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "core/limiter/envoy_fixture.hpp"
#include "core/store/temporary_folder.hpp"

namespace limitree {
namespace {

using std::chrono::seconds;

constexpr std::string_view kRules =
    "domain: d\n"
    "descriptors:\n"
    "- {key: n, rate_limit: {unit: minute, requests_per_unit: 4}}\n"
    "- {key: s, shadow_mode: true,\n"
    "   rate_limit: {unit: minute, requests_per_unit: 2}}\n"
    "- {key: q, quota_mode: true,\n"
    "   rate_limit: {unit: minute, unit_multiplier: 2, requests_per_unit: 3}}\n"
    "- {key: g, rate_limit: {unit: minute, requests_per_unit: 6,\n"
    "   algorithm: gcra, burst: 3}}\n"
    "- {key: l, rate_limit: {unit: minute, requests_per_unit: 3,\n"
    "   algorithm: sliding_log}}\n"
    "- {key: o, rate_limit: {unit: minute, requests_per_unit: 4,\n"
    "   overrun: {percent: 50}}}\n"
    "- {key: free, rate_limit: {unlimited: true}}\n"
    "- {key: none, rate_limit: {unit: hour}}\n"
    "- key: p\n"
    "  rate_limit: {unit: minute, requests_per_unit: 5}\n"
    "  descriptors:\n"
    "  - {key: c, rate_limit: {unit: minute, requests_per_unit: 3}}\n"
    "- key: h\n"
    "  descriptors:\n"
    "  - {key: id, value_to_hold: true,\n"
    "     rate_limit: {concurrent: 3, hold: 30s}}\n"
    "- key: t\n"
    "  descriptors:\n"
    "  - {key: id, value_to_hold: true,\n"
    "     rate_limit: {unit: minute, requests_per_unit: 5, hold: 20s}}\n";

class EnvoyPeekTest : public EnvoyTest {
 protected:
  unsigned pick(unsigned below) {
    return static_cast<unsigned>(random_() % below);
  }

  std::vector<std::string> any_request() {
    static constexpr std::array kDescriptors = {
        "n=1",     "n=1", "n=2",  "s=1",  "q=1",    "q=2",
        "g=1",     "l=1", "o=1",  "free", "none=1", "p=1",
        "p=1,c=1", "x=1", "h=1,", "t=1,", "t=2,",   "n=1;limit=2/2"};
    const std::string name = "id=" + std::to_string(++names_);
    std::vector<std::string> request;
    for (unsigned i = 1 + pick(3); i > 0; --i) {
      std::string one = kDescriptors[pick(kDescriptors.size())];
      if (one.ends_with(',')) one += name;
      if (pick(3) == 0) one += ";hits=" + std::to_string(pick(4));
      request.push_back(one);
    }
    return request;
  }

  // All that the last answer says.
  std::string answered(const std::string& text) {
    std::string all = text;
    for (const DescriptorStatus& one : answer.statuses) {
      all += " | " + std::to_string(one.outcome.retry_after.count()) + ' ' +
             std::to_string(one.outcome.until_reset.count()) + ' ' +
             std::to_string(one.outcome.reset_after.count()) +
             (one.shadowed ? " shadowed" : "") +
             (one.outcome.soft ? " soft" : "");
    }
    return all;
  }

  // Each request is asked three times, of which only the last one counts.
  void ask_at_random(int requests) {
    for (int i = 0; i < requests; ++i) {
      const std::vector<std::string> request = any_request();
      SCOPED_TRACE(testing::PrintToString(request));
      const EnvoyTotals before = limiter->envoy_stats().totals;
      const std::string looked = answered(peek(request));
      ASSERT_EQ(answered(peek(request)), looked);
      ASSERT_EQ(limiter->envoy_stats().totals.ok, before.ok);
      ASSERT_EQ(answered(path_cost(request)), looked);
      if (pick(8) == 0) clock.advance(seconds(1 + pick(20)));
      if (pick(20) > 0) continue;
      ASSERT_EQ(reset(request), "");
      for (std::string one : request) {
        one = one.substr(0, one.find(";hits")) + ";hits=0";
        const std::string left = peek({one});
        const DescriptorStatus& status = answer.statuses[0];
        if (status.match != Match::kLimited || one.starts_with("none"))
          continue;
        EXPECT_EQ(status.remaining, status.outcome.capacity) << one << left;
      }
    }
  }

 private:
  std::mt19937 random_{20261129};
  int names_ = 0;
};

TEST_F(EnvoyPeekTest, TellsWhatTheNextRequestGets) {
  make(kRules);
  ask_at_random(3000);
}

TEST_F(EnvoyPeekTest, AllOrNothing) {
  make("all_or_nothing: true\nparents: true\n" + std::string(kRules));
  ask_at_random(3000);
}

TEST_F(EnvoyPeekTest, DenialsStopOthers) {
  options.stop_increment = Stop::kEnforced;
  make(kRules);
  ask_at_random(3000);
}

TEST_F(EnvoyPeekTest, CountersThatAreKnown) {
  options.over_cache_size = 1000;
  options.stop_increment = Stop::kOn;
  make(kRules);
  for (int i = 0; i < 20; ++i) {
    SCOPED_TRACE(i);
    const std::string looked = peek({"n=1", "g=1"});
    ASSERT_EQ(peek({"n=1", "g=1"}), looked);
    ASSERT_EQ(path_cost({"n=1", "g=1"}), looked);
    clock.advance(seconds(2));
  }
  EXPECT_GT(limiter->envoy_stats().over_cache.hits, 0);
  EXPECT_EQ(path_cost({"n=1;hits=5"}), "OVER: over 0");
  EXPECT_EQ(peek({"n=1"}), "OVER: over 0");
  EXPECT_EQ(reset({"n=1"}), "");
  EXPECT_EQ(peek({"n=1"}), "OK: ok 3");
}

TEST_F(EnvoyPeekTest, NothingIsGivenBack) {
  make(kRules);
  EXPECT_EQ(peek({"n=1", "n=2;back"}),
            "descriptor 1 gives hits back, and the request only looks");
  EXPECT_EQ(reset({"n=1;back"}),
            "descriptor 0 gives hits back, and the request only resets");
  EXPECT_EQ(limiter->envoy_stats().totals.service_errors, 1);
}

// A reset forgets what all requests hold, and so needs no name.
TEST_F(EnvoyPeekTest, ResetsWhatIsHeld) {
  make(kRules);
  EXPECT_EQ(path_cost({"h=1,id=1;hits=3"}), "OK: ok 0");
  EXPECT_EQ(path_cost({"h=1,id=2"}), "OVER: over 0");
  EXPECT_EQ(reset({"h=1,id"}), "");
  EXPECT_EQ(path_cost({"h=1,id=2"}), "OK: ok 2");
  EXPECT_EQ(path_cost({"h=1,id=1;back"}), "OK: ok 2");
}

class Resets final : public Listener {
 public:
  explicit Resets(StoreLoop* loop) : Listener(loop) {}

  void decided(Status status, const Decision&,
               const LevelReports&) noexcept override {
    codes.push_back(status.code());
  }

  std::vector<Code> codes;
};

TEST_F(EnvoyPeekTest, ResetsLater) {
  make(kRules, true);
  const std::unique_ptr<StoreLoop> loop = limiter->new_loop();
  Resets resets(loop.get());
  const auto start = [&](const std::vector<std::string>& descriptors) {
    Status status;
    EnvoyRequest request("d", descriptors);
    const bool done = limiter->reset_async(request.get(), &resets, &status);
    return !done ? "later" : status.ok() ? "" : status.error().messages.front();
  };
  EXPECT_EQ(path_cost({"n=1;hits=4"}), "OK: ok 0");
  EXPECT_EQ(start({"n=1", "n=2", "n=1"}), "");
  EXPECT_EQ(path_cost({"n=1;hits=4"}), "OK: ok 0");
  store->answers_later = true;
  EXPECT_EQ(start({"n=1"}), "later");
  EXPECT_TRUE(resets.codes.empty());
  loop->run();
  EXPECT_EQ(resets.codes, std::vector<Code>{Code::kOk});
  store->answers_later = false;
  EXPECT_EQ(path_cost({"n=1"}), "OK: ok 3");
  EXPECT_EQ(start({"x=1"}), "");
  EXPECT_EQ(start({"n=1;back"}),
            "descriptor 0 gives hits back, and the request only resets");
}

// What another replica gives back is seen when the window ends, and not before:
// the bound of over_cache_size that docs/descriptors.md states.
TEST(OverCacheOfReplicas, RefundsElsewhereAreSeenAtTheEndOfTheWindow) {
  const TemporaryFolder folder("replicas");
  ManualClock clock;
  Options options;
  options.clock = clock.clock();
  options.over_cache_size = 100;
  ASSERT_TRUE(
      set_option("store", "shm://" + folder.path() + "/made", &options).ok());
  const auto replica = [&] {
    return std::make_unique<Limiter>(std::make_shared<const Tree>(), options,
                                     std::move(make_store(options).value()),
                                     descriptors_of(kRules));
  };
  const std::unique_ptr<Limiter> one = replica();
  const std::unique_ptr<Limiter> other = replica();
  EnvoyAnswer answer;
  const auto ask = [&](Limiter* limiter, const char* descriptor) {
    EnvoyRequest request("d", {descriptor});
    EXPECT_TRUE(limiter->should_rate_limit(request.get(), &answer).ok());
    return text_of(answer);
  };
  EXPECT_EQ(ask(one.get(), "n=1;hits=4"), "OK: ok 0");
  EXPECT_EQ(ask(one.get(), "n=1"), "OVER: over 0");
  const Duration left = answer.statuses[0].outcome.until_reset;
  EXPECT_EQ(ask(other.get(), "n=1;hits=5;back"), "OK: ok 4");
  EXPECT_EQ(ask(other.get(), "n=1;hits=0"), "OK: ok 4");
  EXPECT_EQ(ask(one.get(), "n=1"), "OVER: over 0");
  EXPECT_TRUE(answer.statuses[0].outcome.cached);
  clock.advance(left - Duration(1));
  EXPECT_EQ(ask(one.get(), "n=1"), "OVER: over 0");
  clock.advance(Duration(1));
  EXPECT_EQ(ask(one.get(), "n=1"), "OK: ok 3");
  // Its own refunds and resets are seen at once.
  EXPECT_EQ(ask(one.get(), "n=1;hits=4"), "OVER: over 0");
  EXPECT_EQ(ask(one.get(), "n=1;hits=2;back"), "OK: ok 1");
  EXPECT_EQ(ask(one.get(), "n=1"), "OK: ok 0");
}

}  // namespace
}  // namespace limitree
