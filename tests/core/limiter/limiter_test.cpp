#include "limiter/limiter.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "core/store/manual_clock.hpp"
#include "limiter/make_store.hpp"
#include "tree/schema.hpp"

namespace limitree::limiter_test {
namespace {

using Strings = std::vector<std::string_view>;

constexpr std::string_view kYaml = R"(
schema:
  user:
    children:
      "*":
        limits: [15, 30, 60]
        children:
          trade: {limits: [5, 10, 15]}
          withdrawal: {limits: [5, 10, 15]}
  ip:
    key: ip
    children:
      "2001*": {limits: 1/day}
      "*": {limits: 3/minute}
)";

std::shared_ptr<const Tree> tree_of(std::string_view yaml) {
  Result<Tree> tree = load_tree(yaml, "test.yaml");
  if (!tree.ok()) {
    ADD_FAILURE() << tree.status().error().messages.at(0);
    return std::make_shared<const Tree>();
  }
  return std::make_shared<const Tree>(std::move(tree.value()));
}

class LimiterTest : public testing::Test {
 protected:
  LimiterTest() { options_.clock = clock_.clock(); }

  Limiter& limiter() {
    if (!limiter_) {
      limiter_.emplace(tree_of(kYaml), options_,
                       std::move(make_store(options_).value()));
    }
    return *limiter_;
  }

  Decision decide(const Strings& path, std::int64_t cost = 1,
                  Operation operation = Operation::kAuthorize) {
    const PathCost path_cost{path, cost};
    Decision decision;
    const Status status =
        limiter().decide(operation, {{&path_cost, 1}}, nullptr, &decision);
    EXPECT_TRUE(status.ok());
    return decision;
  }

  std::string refusal(const std::vector<Strings>& paths,
                      std::int64_t cost = 1) {
    std::vector<PathCost> path_costs;
    for (const Strings& path : paths) path_costs.push_back({path, cost});
    Decision decision;
    const Status status = limiter().decide(Operation::kAuthorize, {path_costs},
                                           nullptr, &decision);
    return status.ok() ? "accepted" : status.error().messages.at(0);
  }

  ManualClock clock_;
  Options options_;
  std::optional<Limiter> limiter_;
};

TEST_F(LimiterTest, DecidesTheWalkThrough) {
  for (int i = 0; i < 6; ++i) {
    EXPECT_FALSE(decide({"user", "alex", "trade"}).limited);
  }
  const Decision denied = decide({"user", "alex", "trade"});
  EXPECT_EQ(to_throttle_reply(denied), (ThrottleReply{1, 6, 0, 2, 12}));
  // The denied one took nothing from the outer level.
  EXPECT_EQ(decide({"user", "alex"}, 0).remaining, 10);
  EXPECT_FALSE(decide({"user", "alex", "withdrawal"}).limited);
  EXPECT_FALSE(decide({"user", "kate", "trade"}).limited);
}

TEST_F(LimiterTest, JoinsPathsIntoOneDecision) {
  const Strings trade = {"user", "alex", "trade"};
  const Strings withdrawal = {"user", "alex", "withdrawal"};
  const PathCost path_costs[] = {{trade, 1}, {withdrawal, 2}};
  LevelReports reports;
  Decision decision;
  ASSERT_TRUE(
      limiter()
          .decide(Operation::kAuthorize, {path_costs}, &reports, &decision)
          .ok());
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[0].policy, "user:*");
  EXPECT_EQ(reports[0].cost, 2);
  EXPECT_EQ(reports[1].policy, "user:*/trade");
  EXPECT_EQ(reports[2].policy, "user:*/withdrawal");
  EXPECT_EQ(decision.level_count, 3);
}

TEST_F(LimiterTest, RefusesWhatItCannotDecide) {
  EXPECT_EQ(refusal({{"user", "alex"}}, -1),
            "cost must not be negative, is -1");
  EXPECT_EQ(refusal({{"usr", "alex"}}),
            "unknown root \"usr\", the tree has: user, ip");
  EXPECT_EQ(refusal({{}}), "the path is empty");
  EXPECT_EQ(refusal({{"ip", "2001:db8::1"}, {"ip", "2002::1"}}), "accepted");
  EXPECT_EQ(limiter().stats().totals.errors, 3);
}

// If one path is refused, the others are not charged.
TEST_F(LimiterTest, ChargesNothingIfOnePathIsRefused) {
  EXPECT_NE(refusal({{"user", "alex"}, {"nobody"}}), "accepted");
  EXPECT_EQ(decide({"user", "alex"}, 0).remaining, 16);
}

TEST_F(LimiterTest, DecidesHugeSegmentsAndRefusesAbsurdOnes) {
  const std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 16; ++i) {
    EXPECT_FALSE(decide({"user", megabyte}).limited);
  }
  EXPECT_TRUE(decide({"user", megabyte}).limited);
  const std::string absurd((1 << 26) + 1, 'x');
  EXPECT_EQ(refusal({{"user", absurd}}),
            "a segment has more than 67108864 bytes");
}

TEST_F(LimiterTest, ResetForgetsThePathOrItsLeaf) {
  for (int i = 0; i < 6; ++i) decide({"user", "alex", "trade"});
  const Strings trade = {"user", "alex", "trade"};
  ASSERT_TRUE(limiter().reset(trade, Forget::kLeaf).ok());
  EXPECT_EQ(decide({"user", "alex", "trade"}, 0).remaining, 6);
  EXPECT_EQ(decide({"user", "alex"}, 0).remaining, 10);
  ASSERT_TRUE(limiter().reset(trade, Forget::kPath).ok());
  EXPECT_EQ(decide({"user", "alex"}, 0).remaining, 16);
  EXPECT_FALSE(limiter().reset(Strings{"nobody"}, Forget::kPath).ok());
  EXPECT_EQ(
      limiter().reset(Strings{"ip"}, Forget::kLeaf).error().messages.at(0),
      "the path ends at ip, which has no limits; an id is missing");
}

TEST_F(LimiterTest, ReloadKeepsBucketsAndCounters) {
  decide({"user", "alex"});
  const auto wider = tree_of(
      "schema: {user: {children: {'*': {limits: "
      "{burst: 32, count: 60, period: 1m}}}}}");
  ASSERT_TRUE(limiter().reload(*wider).ok());
  EXPECT_EQ(decide({"user", "alex"}, 0).remaining, 30);
  EXPECT_EQ(refusal({{"ip", "192.0.2.1"}}),
            "unknown root \"ip\", the tree has: user");
  const std::vector<PolicyStats> stats = limiter().policy_stats();
  ASSERT_FALSE(stats.empty());
  EXPECT_EQ(stats[0].policy, "user:*");
  EXPECT_EQ(stats[0].tally.allowed, 2);
  EXPECT_EQ(limiter().stats().reloads, 1);
  EXPECT_EQ(limiter().stats().limits, 1);
}

TEST_F(LimiterTest, CountsEveryDecisionOnce) {
  for (int i = 0; i < 8; ++i) decide({"user", "alex", "trade"});
  decide({"user", "alex"}, 1, Operation::kPeek);
  const LimiterStats stats = limiter().stats();
  EXPECT_EQ(stats.totals.allowed(), 6);
  EXPECT_EQ(stats.totals.limited(), 2);
  EXPECT_EQ(stats.store.buckets, 2);
  for (const PolicyStats& policy : limiter().policy_stats()) {
    const bool trade = policy.policy == "user:*/trade";
    const bool user = policy.policy == "user:*";
    EXPECT_EQ(policy.tally.allowed, trade || user ? 6 : 0) << policy.policy;
    EXPECT_EQ(policy.tally.limited, trade ? 2 : 0) << policy.policy;
  }
}

// Trees come and go while four threads decide: every answer is that of one
// tree or the other, and no tree is freed under a reader (ASan, TSan).
TEST_F(LimiterTest, ReloadsWhileThreadsDecide) {
  const auto tree_with = [](int burst) {
    return tree_of("schema: {user: {children: {'*': {limits: {burst: " +
                   std::to_string(burst) +
                   ", count: 1000000000, "
                   "period: 1s}}}}}");
  };
  ASSERT_TRUE(limiter().reload(*tree_with(100)).ok());
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::string name = "caller" + std::to_string(t);
      const Strings path = {"user", name};
      const PathCost path_cost{path, 1};
      while (!stop) {
        Decision decision;
        LevelReports reports;
        const Status status = limiter().decide(
            Operation::kAuthorize, {{&path_cost, 1}}, &reports, &decision);
        wrong += !status.ok() || reports.size() != 1 ||
                 reports[0].policy != "user:*" ||
                 (decision.limit != 100 && decision.limit != 200);
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(limiter().reload(*tree_with(i % 2 == 0 ? 200 : 100)).ok());
    EXPECT_FALSE(load_tree("schema: {user: {limits: [1]}}", "bad").ok());
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(limiter().stats().reloads, 301);
}

// The thread does not allocate, because the allocator of a sanitizer may stay
// locked in the child.
TEST_F(LimiterTest, WorksInTheChildOfAFork) {
  std::atomic<bool> stop = false;
  limiter();
  const Strings kate = {"user", "kate"};
  std::thread busy([&] {
    while (!stop) decide(kate, 0);
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
      alarm(20);
      bool good = !decide({"user", "alex", "trade"}).limited;
      good &= limiter().reload(*tree_of(kYaml)).ok();
      good &= limiter().stats().reloads == 1;
      _exit(good ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace limitree::limiter_test
