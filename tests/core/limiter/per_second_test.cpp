// Limits of a second in a Redis server of their own, with two real servers.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/store/manual_clock.hpp"
#include "core/store/redis/redis_server.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"
#include "tree/schema.hpp"

namespace limitree::per_second_test {
namespace {

using redis::RedisServer;

constexpr std::string_view kYaml = R"(
schema:
  user:
    children:
      "*":
        limits:
          - {name: s, count: 4, period: 1s, burst: 4}
          - {name: m, count: 6, period: 60s, burst: 6}
        children:
          slow: {limits: []}
  slow: {limits: {count: 3, period: 60s}}
  fast: {limits: {count: 3, period: 500ms}}
  busy:
    children:
      "*":
        limits:
          - {name: s, count: 1000000, period: 1s}
          - {name: h, count: 2000, period: 1h}
  held:
    children:
      "*":
        limits:
          - {name: s, count: 4, period: 1s, hold: 1m}
          - {name: c, concurrent: 1, hold: 1m}
  shut: {limits: {block: true}}
)";

// The limit of an hour above.
constexpr int kBusy = 2000;

std::string url_of(const RedisServer& server, const std::string& db = "") {
  return "redis://127.0.0.1:" + std::to_string(server.port()) + db;
}

struct Outcome {
  Code code = Code::kOk;
  Decision decision;
  std::vector<std::int64_t> remaining;  // of each limit
};

class PerSecond : public testing::Test {
 protected:
  static void set(std::string_view name, std::string_view value,
                  Options* options) {
    const Status status = set_option(name, value, options);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  void make(const std::vector<std::pair<std::string, std::string>>& more = {}) {
    Options options;
    options.clock = clock_.clock();
    set("store", url_of(main_), &options);
    set("per_second_store", url_of(other_), &options);
    set("timeout", "30s", &options);
    set("deny_cache", "off", &options);
    for (const auto& [name, value] : more) set(name, value, &options);
    Result<std::unique_ptr<Store>> store = make_store(options);
    ASSERT_TRUE(store.ok()) << store.status().message();
    Result<Tree> tree = load_tree(kYaml, "test.yaml");
    ASSERT_TRUE(tree.ok()) << tree.status().message();
    limiter_.emplace(std::make_shared<const Tree>(std::move(tree.value())),
                     options, std::move(store.value()));
  }

  Outcome decide(const std::vector<std::string_view>& path,
                 std::int64_t cost = 1,
                 Operation operation = Operation::kAuthorize) {
    const PathCost path_cost{path, cost};
    Outcome outcome;
    LevelReports reports;
    outcome.code =
        limiter_
            ->decide(operation, {{&path_cost, 1}}, &reports, &outcome.decision)
            .code();
    for (const LevelReport& report : reports) {
      outcome.remaining.push_back(report.verdict.remaining);
    }
    return outcome;
  }

  // What is left at the two limits of a user.
  std::pair<std::int64_t, std::int64_t> left(std::string_view user) {
    const Outcome outcome = decide({"user", user}, 0, Operation::kPeek);
    return {outcome.remaining.at(0), outcome.remaining.at(1)};
  }

  static std::string keys(const RedisServer& server) {
    return server.cli({"KEYS", "*"});
  }

  RedisServer main_;
  RedisServer other_;
  ManualClock clock_;
  std::optional<Limiter> limiter_;
};

TEST_F(PerSecond, EachLimitIsInItsPlace) {
  make();
  EXPECT_FALSE(decide({"slow"}).decision.limited);
  EXPECT_EQ(keys(main_), "limitree:{slow}");
  EXPECT_EQ(keys(other_), "");
  EXPECT_FALSE(decide({"fast"}).decision.limited);
  EXPECT_EQ(keys(other_), "limitree:{fast}");
  main_.cli({"FLUSHALL"});
  EXPECT_FALSE(decide({"user", "alex"}).decision.limited);
  EXPECT_EQ(main_.cli({"HKEYS", "limitree:{user:alex}"}), ":\n#m");
  EXPECT_EQ(other_.cli({"HKEYS", "limitree:{user:alex}"}), ":\n#s");
  const std::vector<std::string_view> path = {"user", "alex"};
  EXPECT_TRUE(limiter_->reset(path, Forget::kLeaf).ok());
  EXPECT_EQ(left("alex"), std::pair(std::int64_t{4}, std::int64_t{6}));
}

// However short it is, where requests look for it.
TEST_F(PerSecond, ABlockIsInTheMainStore) {
  make();
  const std::vector<std::string_view> path = {"shut"};
  ASSERT_TRUE(limiter_->block(path, std::chrono::hours(1)).ok());
  ASSERT_TRUE(limiter_->block(path, std::chrono::seconds(1)).ok());
  EXPECT_EQ(keys(other_), "");
  EXPECT_EQ(decide({"shut"}).decision.retry_after, std::chrono::seconds(1));
}

// Whichever of the two denies, neither is charged in the end.
TEST_F(PerSecond, ARequestThatOneDeniesChargesNeither) {
  make();
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(decide({"user", "alex"}).decision.limited);
  }
  EXPECT_EQ(left("alex"), std::pair(std::int64_t{0}, std::int64_t{2}));
  EXPECT_TRUE(decide({"user", "alex"}).decision.limited);
  EXPECT_EQ(left("alex"), std::pair(std::int64_t{0}, std::int64_t{2}));
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(left("alex"), std::pair(std::int64_t{4}, std::int64_t{2}));
  EXPECT_TRUE(decide({"user", "alex"}, 3).decision.limited);
  EXPECT_EQ(left("alex"), std::pair(std::int64_t{4}, std::int64_t{2}));
  EXPECT_FALSE(decide({"user", "alex"}, 2).decision.limited);
  EXPECT_EQ(left("alex"), std::pair(std::int64_t{2}, std::int64_t{0}));
}

TEST_F(PerSecond, AllThreadsTogetherAdmitTheCapacityOfEach) {
  make();
  std::atomic<int> admitted = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const Outcome outcome = decide({"user", "alex"});
        EXPECT_EQ(outcome.code, Code::kOk);
        admitted += outcome.decision.limited ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted, 4);  // the clock stands still
  EXPECT_EQ(left("alex"), std::pair(std::int64_t{0}, std::int64_t{2}));
}

TEST_F(PerSecond, HoldsAreInBothPlaces) {
  make();
  const auto reserve = [this] {
    const std::vector<std::string_view> path = {"held", "alex"};
    const PathCost path_cost{path, 1};
    Costs costs{{&path_cost, 1}};
    costs.reservation.id = limiter_->new_hold_id();
    Decision decision;
    EXPECT_TRUE(
        limiter_->decide(Operation::kReserve, costs, nullptr, &decision).ok());
    return decision.limited;
  };
  EXPECT_FALSE(reserve());
  EXPECT_NE(keys(main_), "");
  EXPECT_NE(keys(other_), "");
  // What is denied at one place is not held at the other.
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(reserve());
  main_.cli({"FLUSHALL"});
  EXPECT_FALSE(reserve());
}

TEST_F(PerSecond, OneThatDiesTakesOnlyItsOwnLimitsWithIt) {
  make();
  EXPECT_FALSE(decide({"user", "alex"}).decision.limited);
  other_.kill();
  const Outcome both = decide({"user", "alex"});
  EXPECT_TRUE(both.code == Code::kStoreUnavailable ||
              both.code == Code::kStoreTimeout);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(decide({"slow"}).decision.limited);
  }
  EXPECT_TRUE(decide({"slow"}).decision.limited);
  EXPECT_NE(limiter_->ping().code(), Code::kOk);
  other_.start();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (decide({"user", "alex"}, 0).code != Code::kOk) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(limiter_->ping().ok());
  // What failed was not charged at the other place.
  EXPECT_EQ(left("alex").second, 5);

  main_.kill();
  EXPECT_NE(decide({"user", "alex"}).code, Code::kOk);
  EXPECT_FALSE(decide({"fast"}).decision.limited);
  main_.start();
  while (decide({"user", "alex"}, 0).code != Code::kOk) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  // What was charged before the other failed has been given back.
  EXPECT_EQ(left("alex").first, 4);
}

TEST_F(PerSecond, IsNeverOverALimitWhileOneComesAndGoes) {
  make();
  std::atomic<bool> stop = false;
  std::atomic<int> admitted = 0;
  std::atomic<int> denied = 0;
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        const Outcome outcome = decide({"busy", "alex"});
        if (outcome.code != Code::kOk) {
          ++failed;
        } else {
          ++(outcome.decision.limited ? denied : admitted);
        }
      }
    });
  }
  const auto after = [&denied](const std::atomic<int>& count) {
    const int before = count;
    while (count < before + 20 && denied == 0) std::this_thread::yield();
  };
  for (int i = 0; i < 3; ++i) {
    after(admitted);
    other_.kill();
    after(failed);
    other_.start();
  }
  while (denied == 0) std::this_thread::yield();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(admitted, kBusy);
  EXPECT_GT(admitted, kBusy / 2);
}

TEST_F(PerSecond, WithoutAnAnswerTheOptionDecides) {
  make({{"on_store_error", "local"}});
  other_.kill();
  const Outcome both = decide({"user", "alex"});
  EXPECT_EQ(both.code, Code::kOk);
  EXPECT_EQ(both.decision.source, Source::kLocal);
  EXPECT_EQ(decide({"slow"}).decision.source, Source::kStore);
}

int calls(const RedisServer& server) {
  const std::string stats = server.cli({"INFO", "commandstats"});
  int count = 0;
  for (const std::string_view name : {"eval", "evalsha"}) {
    const std::string line = "cmdstat_" + std::string(name) + ":calls=";
    const std::size_t at = stats.find(line);
    if (at != stats.npos) count += std::stoi(stats.substr(at + line.size()));
  }
  return count;
}

TEST_F(PerSecond, TheSameServerCostsNothing) {
  make({{"per_second_store", url_of(main_)}});
  decide({"user", "alex"});  // may have to send the script, too
  int before = calls(main_);
  decide({"user", "alex"});
  EXPECT_EQ(calls(main_), before + 1);
  // Another database is another place.
  make({{"per_second_store", url_of(main_, "/1")}});
  decide({"user", "bo"});
  before = calls(main_);
  decide({"user", "bo"});
  EXPECT_EQ(calls(main_), before + 2);
  EXPECT_EQ(calls(other_), 0);
}

TEST_F(PerSecond, PasswordsAreReadFromFiles) {
  Options options;
  set("store", url_of(main_), &options);
  set("per_second_store", url_of(other_) + "?password_file=/none", &options);
  EXPECT_EQ(make_store(options).status().message(),
            "per_second_store: password_file: /none: no such file or "
            "directory");
  set("store", url_of(main_) + "?password_file=/none", &options);
  EXPECT_EQ(make_store(options).status().message(),
            "password_file: /none: no such file or directory");
}

}  // namespace
}  // namespace limitree::per_second_test
