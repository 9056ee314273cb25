// The largest requests, in memory and in Redis: 4096 paths, 4096 levels, of one
// caller or of as many.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/manual_clock.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/tree/loaded.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"

namespace limitree {
namespace {

using redis::RedisServer;

constexpr std::size_t kMost = 4096;

// What a caller of `user` may do, a limit for each: "a0", "a1" ...  All of them
// are one hash in Redis.
std::string actions_yaml(std::string_view limit) {
  std::string yaml =
      "schema:\n"
      "  any: {children: {'*': {limits: 2/h}}}\n"
      "  two: {children: {'*': {limits: [2/h, 3/h]}}}\n"
      "  user: {children: {'*': {children: {\n";
  for (std::size_t i = 0; i < kMost; ++i) {
    yaml += "a" + std::to_string(i) + ": {limits: " + std::string(limit) + "},";
  }
  return yaml + "}}}}\n";
}

class ManyLevels : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() { server_ = new RedisServer; }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }

  void make_limiter(std::string_view limit) {
    options_.clock = clock_.clock();
    const std::string test =
        testing::UnitTest::GetInstance()->current_test_info()->name();
    const std::string url =
        "redis://127.0.0.1:" + std::to_string(server_->port());
    if (std::string_view(GetParam()) == "redis") {
      ASSERT_TRUE(set_option("store", url, &options_).ok());
      ASSERT_TRUE(set_option("timeout", "60s", &options_).ok());
      ASSERT_TRUE(set_option("prefix", test + ":", &options_).ok());
    }
    limiter_ = std::make_unique<Limiter>(
        std::make_shared<const Tree>(loaded(actions_yaml(limit))), options_,
        std::move(make_store(options_).value()));
  }

  // `count` paths that differ in their last segment.
  void path_cost(const std::vector<std::string_view>& begin,
                 std::string_view last, std::size_t count) {
    names_.clear();
    paths_.clear();
    path_costs_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      names_.push_back(std::string(last) + std::to_string(i));
    }
    for (const std::string& name : names_) {
      paths_.push_back(begin);
      paths_.back().push_back(name);
    }
    for (const auto& path : paths_) path_costs_.push_back({path, 1});
  }

  std::string authorize(Operation operation = Operation::kAuthorize) {
    decision_ = Decision();
    const Status status =
        limiter_->decide(operation, {path_costs_}, nullptr, &decision_);
    if (!status.ok()) return status.error().messages[0];
    return decision_.limited ? "limited" : "allowed";
  }

  // Every bucket takes two tokens; the third request is denied by the last one.
  void expect_all_or_nothing() {
    EXPECT_EQ(authorize(), "allowed");
    EXPECT_EQ(decision_.level_count, static_cast<std::int32_t>(kMost));
    EXPECT_EQ(decision_.remaining, 1);
    const std::vector<PathCost> all = path_costs_;
    path_costs_ = {all.back()};
    EXPECT_EQ(authorize(), "allowed");
    path_costs_ = all;
    EXPECT_EQ(authorize(), "limited");
    EXPECT_EQ(decision_.binding, static_cast<std::int32_t>(kMost) - 1);
    path_costs_ = {all.front()};
    EXPECT_EQ(authorize(Operation::kPeek), "allowed");
    EXPECT_EQ(decision_.remaining, 0) << "what was denied has been charged";
    path_costs_ = all;
    EXPECT_EQ(authorize(Operation::kRefund), "allowed");
    EXPECT_EQ(authorize(), "allowed");
  }

  ManualClock clock_;
  Options options_;
  std::unique_ptr<Limiter> limiter_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string_view>> paths_;
  std::vector<PathCost> path_costs_;
  Decision decision_;

 private:
  static inline RedisServer* server_ = nullptr;
};

TEST_P(ManyLevels, OfOneCaller) {
  make_limiter("2/h");
  path_cost({"user", "alex"}, "a", kMost);
  expect_all_or_nothing();
}

TEST_P(ManyLevels, OfOneCallerInWindows) {
  make_limiter("{count: 2, period: 1h, algorithm: fixed_window}");
  path_cost({"user", "alex"}, "a", kMost);
  expect_all_or_nothing();
}

TEST_P(ManyLevels, OfManyCallers) {
  make_limiter("2/h");
  path_cost({"any"}, "caller", kMost);
  expect_all_or_nothing();
}

// A bucket that is reached again and again is one level.
TEST_P(ManyLevels, OfTheSameBuckets) {
  make_limiter("2/h");
  path_cost({"any"}, "caller", kMost / 2);
  const std::vector<PathCost> half = path_costs_;
  path_costs_.insert(path_costs_.end(), half.rbegin(), half.rend());
  EXPECT_EQ(authorize(), "allowed");
  EXPECT_EQ(decision_.level_count, static_cast<std::int32_t>(kMost / 2));
  EXPECT_EQ(decision_.remaining, 1);
}

TEST_P(ManyLevels, MoreAreRefused) {
  make_limiter("2/h");
  path_cost({"any"}, "caller", kMost + 1);
  EXPECT_EQ(authorize(), "there are 4097 paths, the most is 4096");
  path_cost({"two"}, "caller", 3000);
  EXPECT_EQ(authorize(),
            "the first 2049 of 3000 paths meet 4098 limits, the most is 4096");
  path_cost({"two"}, "caller", kMost / 2);
  EXPECT_EQ(authorize(), "allowed") << "what was refused has been charged";
  EXPECT_EQ(decision_.remaining, 1);
}

INSTANTIATE_TEST_SUITE_P(Stores, ManyLevels, testing::Values("memory", "redis"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace limitree
