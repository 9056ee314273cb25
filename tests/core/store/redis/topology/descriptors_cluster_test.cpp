// Requests of Envoy on a cluster: descriptors of one request are in different
// slots, and each is decided and charged by itself.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/store/redis/await.hpp"
#include "core/store/redis/topology/cluster_fixture.hpp"
#include "descriptors/descriptors.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"

namespace limitree::redis {
namespace {

// A request about {"a": value} for each value; of `back`, gives hits back.
class Question {
 public:
  explicit Question(const std::vector<std::string>& values, bool back = false) {
    for (const std::string& value : values) entries_.push_back({"a", value});
    for (const Entry& entry : entries_) {
      asked_.push_back({{&entry, 1}});
      asked_.back().is_negative_hits = back;
    }
  }
  DescriptorRequest get() const { return {"d", asked_, 1}; }

 private:
  std::vector<Entry> entries_;
  std::vector<RequestDescriptor> asked_;
};

std::vector<LimitCode> codes_of(const Status& status,
                                const EnvoyAnswer& answer) {
  std::vector<LimitCode> codes;
  EXPECT_TRUE(status.ok()) << status.error().messages.front();
  if (!status.ok()) return codes;
  for (const DescriptorStatus& one : answer.statuses) codes.push_back(one.code);
  return codes;
}

std::vector<LimitCode> ask(Limiter* limiter,
                           const std::vector<std::string>& values,
                           bool back = false) {
  const Question question(values, back);
  EnvoyAnswer answer;
  const Status status = limiter->should_rate_limit(question.get(), &answer);
  return codes_of(status, answer);
}

// Keeps the answer to one request that does not wait.
class Keeper final : public Listener {
 public:
  explicit Keeper(StoreLoop* loop) : Listener(loop) {}

  void decided(Status, const Decision&, const LevelReports&) noexcept override {
  }
  void answered(Status outcome, EnvoyAnswer* answer) noexcept override {
    EXPECT_FALSE(status) << "the second answer";
    if (outcome.ok()) codes = codes_of(outcome, *answer);
    status = std::move(outcome);
  }

  std::optional<Status> status;
  std::vector<LimitCode> codes;
};

std::unique_ptr<Limiter> limiter_of(const ClusterFixture& cluster) {
  Options options;
  EXPECT_TRUE(set_option("store", cluster.url(), &options).ok());
  EXPECT_TRUE(set_option("timeout", "10s", &options).ok());
  const DescriptorFile file{
      "domain: d\n"
      "descriptors:\n"
      "- {key: a, rate_limit: {unit: year, requests_per_unit: 2}}\n",
      "d.yaml"};
  Descriptors descriptors = std::move(load_descriptors({&file, 1}).value());
  return std::make_unique<Limiter>(
      std::make_shared<const Tree>(), options,
      std::move(make_store(options).value()),
      std::make_shared<const Descriptors>(std::move(descriptors)));
}

TEST(DescriptorsInCluster, AreChargedEachByItself) {
  ClusterFixture cluster;
  const std::unique_ptr<Limiter> made = limiter_of(cluster);
  Limiter& limiter = *made;
  std::vector<std::string> values;
  for (int i = 0; i < 20; ++i) values.push_back("v" + std::to_string(i));
  const auto ok = LimitCode::kOk;
  const auto over = LimitCode::kOverLimit;
  const std::vector<LimitCode> all(values.size(), ok);
  EXPECT_EQ(ask(&limiter, {"v7"}), std::vector{ok});
  EXPECT_EQ(ask(&limiter, values), all);
  // One of them denies; the others are charged all the same.
  std::vector<LimitCode> but_one = all;
  but_one[7] = over;
  EXPECT_EQ(ask(&limiter, values), but_one);
  EXPECT_EQ(ask(&limiter, values), std::vector(values.size(), over));
  // 4 hits are given back to v7, of which it had 4; others had 3.
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ask(&limiter, values, true), all);
  EXPECT_EQ(ask(&limiter, {"v7"}), std::vector{over});
  EXPECT_EQ(ask(&limiter, {"v7", "v8", "v9"}), (std::vector{over, ok, ok}));
}

// While one node hangs, the others have long counted the request.
TEST(DescriptorsInCluster, AskAllNodesAtTheSameTime) {
  ClusterFixture cluster;
  const std::unique_ptr<Limiter> limiter = limiter_of(cluster);
  std::unique_ptr<StoreLoop> loop = limiter->new_loop();
  std::vector<std::string> values;
  for (int i = 0; i < 20; ++i) values.push_back("v" + std::to_string(i));
  const Question question(values);
  const auto start = [&](Keeper* keeper) {
    EnvoyAnswer answer;
    Status status;
    EXPECT_FALSE(limiter->should_rate_limit_async(question.get(), &answer,
                                                  keeper, &status));
  };
  const auto run_until = [&](const char* what,
                             const std::function<bool()>& fact) {
    await(what, [&] {
      loop->run();
      return fact();
    });
  };
  const auto has_keys = [&](int node) {
    return cluster.node(node).cli({"DBSIZE"}) != "0";
  };

  Keeper first(loop.get());  // makes the connections
  start(&first);
  run_until("the first answer", [&] { return first.status.has_value(); });
  for (int i = 0; i < ClusterFixture::kPrimaries; ++i) {
    ASSERT_TRUE(has_keys(i));
    cluster.node(i).cli({"FLUSHALL"});
  }
  cluster.suspend(0);  // which has the first slots
  Keeper second(loop.get());
  start(&second);
  run_until("two nodes", [&] { return has_keys(1) && has_keys(2); });
  EXPECT_FALSE(second.status);
  cluster.resume(0);
  run_until("the second answer", [&] { return second.status.has_value(); });
  EXPECT_EQ(second.codes, std::vector(values.size(), LimitCode::kOk));

  // One part that fails is the failure of the request.
  cluster.suspend(0);
  Keeper third(loop.get());
  start(&third);
  loop->run();
  loop.reset();
  EXPECT_EQ(third.status.value().code(), Code::kCancelled);
  cluster.resume(0);
}

}  // namespace
}  // namespace limitree::redis
