// One top-level name more, or another one, in a limiter that is at work.

#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "core/store/manual_clock.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"
#include "tree/schema.hpp"

namespace limitree::put_test {
namespace {

using Strings = std::vector<std::string_view>;

constexpr std::string_view kYaml =
    "schema: {user: {children: {'*': {limits: {count: 60, burst: 16, period: "
    "1m}}}}}";

std::shared_ptr<const Tree> tree_of(std::string_view yaml) {
  return std::make_shared<const Tree>(
      std::move(load_tree(yaml, "test.yaml").value()));
}

std::shared_ptr<Nodes> root_of(std::string_view name, std::string_view yaml) {
  return std::move(load_root(name, {yaml, "put"}).value());
}

class LimiterPutTest : public testing::Test {
 protected:
  LimiterPutTest() { options_.clock = clock_.clock(); }

  Limiter& limiter() {
    if (!limiter_) {
      limiter_.emplace(tree_of(kYaml), options_,
                       std::move(make_store(options_).value()));
    }
    return *limiter_;
  }

  void put(std::string_view name, std::string_view yaml) {
    EXPECT_TRUE(limiter().put(root_of(name, yaml), Replace::kAny).ok());
  }

  // What is left for `path` after a decision; -1 if there is no such name.
  std::int64_t left(const Strings& path, std::int64_t cost = 1) {
    const PathCost path_cost{path, cost};
    Decision decision;
    const Status status = limiter().decide(
        Operation::kAuthorize, {{&path_cost, 1}}, nullptr, &decision);
    if (status.code() == Code::kUnknownRoot) return -1;
    EXPECT_TRUE(status.ok());
    return decision.remaining;
  }

  std::vector<std::string_view> policies() {
    std::vector<std::string_view> policies;
    for (const PolicyStats& one : limiter().policy_stats()) {
      policies.push_back(one.policy);
    }
    return policies;
  }

  ManualClock clock_;
  Options options_;
  std::optional<Limiter> limiter_;
};

TEST_F(LimiterPutTest, AddsANameAndKeepsWhatTheOthersOwe) {
  EXPECT_EQ(left({"user", "alex"}), 15);
  EXPECT_EQ(left({"view", "home"}), -1);
  ASSERT_TRUE(limiter()
                  .put(root_of("view", "children: {'*': {limits: 5/m}}"),
                       Replace::kNone)
                  .ok());
  EXPECT_EQ(left({"view", "home"}), 4);
  EXPECT_EQ(left({"user", "alex"}), 14);
  EXPECT_EQ(policies(), (Strings{"user:*", "view:*"}));
  EXPECT_EQ(limiter().stats().limits, 2);
  EXPECT_EQ(limiter().stats().reloads, 1);
}

TEST_F(LimiterPutTest, ReplacesANameOnlyIfAsked) {
  put("view", "limits: 5/m");
  EXPECT_EQ(left({"view"}), 4);
  for (const std::string_view name : {"view", "user"}) {
    const Status status =
        limiter().put(root_of(name, "limits: 9/m"), Replace::kNone);
    EXPECT_EQ(status.code(), Code::kInvalidConfig);
    EXPECT_EQ(status.error().messages.at(0),
              "\"" + std::string(name) + "\" is a top-level name already");
  }
  EXPECT_EQ(left({"view"}), 3);
  EXPECT_EQ(limiter().stats().reloads, 1);

  const auto put_added = [&](std::string_view name) {
    return limiter().put(root_of(name, "limits: 9/m"), Replace::kAdded);
  };
  EXPECT_TRUE(put_added("other").ok());
  EXPECT_TRUE(put_added("other").ok());
  EXPECT_FALSE(put_added("user").ok());
  put("user", "limits: 9/m");  // replaced, and still one that was loaded
  EXPECT_FALSE(put_added("user").ok());
}

// As a reload does it: the bucket stays, and counts by the new limit.
TEST_F(LimiterPutTest, TheStateOfAReplacedNameStays) {
  put("view", "limits: {count: 60, burst: 16, period: 1m}");
  EXPECT_EQ(left({"view"}), 15);
  put("view", "limits: {count: 60, burst: 32, period: 1m}");
  EXPECT_EQ(left({"view"}, 0), 31);
  EXPECT_EQ(policies(), (Strings{"user:*", "view"}));
  EXPECT_EQ(limiter().policy_stats()[1].tally.allowed, 2);
}

TEST_F(LimiterPutTest, AReloadKeepsAddedNamesAndTakesReplacedOnesBack) {
  put("view", "limits: 5/m");
  put("user", "limits: 3/m");
  EXPECT_EQ(left({"view"}), 4);
  EXPECT_EQ(left({"user", "alex"}), 2);
  ASSERT_TRUE(limiter().reload(*tree_of(kYaml)).ok());
  EXPECT_EQ(left({"view"}), 3);
  EXPECT_EQ(left({"user", "alex"}), 15);

  const Status status =
      limiter().reload(*tree_of("schema: {view: {limits: 9/m}}"));
  EXPECT_EQ(status.code(), Code::kInvalidConfig);
  EXPECT_EQ(left({"view"}), 2);
  EXPECT_EQ(left({"user", "alex"}), 14);
}

TEST_F(LimiterPutTest, RemovesOnlyWhatItHasAdded) {
  put("view", "limits: {count: 4, period: 1m, unit: tokens, hold: 1m}");
  put("job", "limits: 9/m");
  EXPECT_TRUE(limiter().remove("view").ok());
  EXPECT_EQ(left({"view"}), -1);
  EXPECT_EQ(left({"job"}), 8);
  EXPECT_EQ(left({"user", "alex"}), 15);
  // No limit counts tokens any more.
  const UnitCost tokens[] = {{"tokens", 1}};
  const Strings alex = {"user", "alex"};
  const PathCost path_cost{alex, 1};
  Decision decision;
  EXPECT_EQ(limiter()
                .decide(Operation::kPeek, {{&path_cost, 1}, tokens}, nullptr,
                        &decision)
                .code(),
            Code::kInvalidArgument);
  for (const std::string_view name : {"view", "user", "other"}) {
    const Status status = limiter().remove(name);
    EXPECT_EQ(status.code(), Code::kUnknownRoot) << name;
    EXPECT_EQ(status.error().messages.at(0),
              "no top-level name \"" + std::string(name) + "\" was put");
  }
  put("view", "limits: 3/m");  // its bucket is that of other limits
  EXPECT_EQ(left({"view"}), 2);
  ASSERT_TRUE(limiter().remove("view").ok());
  EXPECT_TRUE(limiter().reload(*tree_of("schema: {view: {limits: 9/m}}")).ok());
}

TEST_F(LimiterPutTest, WhatNamesTakeIsBounded) {
  const auto put = [this](const std::string& name, std::string_view yaml) {
    return limiter().put(root_of(name, yaml), Replace::kAdded, 20'000);
  };
  // One that is too large, alone and beside the others.
  std::string large = "children: {";
  for (int i = 0; i < 100; ++i) {
    large += "a" + std::to_string(i) + ": {limits: 1/s}, ";
  }
  EXPECT_EQ(put("view", large + "}").code(), Code::kOutOfMemory);
  EXPECT_EQ(left({"view"}), -1);
  ASSERT_TRUE(put("view", "limits: 5/m").ok());
  EXPECT_EQ(put("view", large + "}").code(), Code::kOutOfMemory);
  EXPECT_EQ(left({"view"}), 4);
  // The counters of names that are gone stay.
  int gone = 0;
  Status status;
  for (; gone < 1000; ++gone) {
    const std::string name = "n" + std::to_string(gone);
    status = put(name, "{limits: {count: 5, period: 1m, unit: " + name + "}}");
    if (!status.ok()) break;
    EXPECT_TRUE(limiter().remove(name).ok());
  }
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_EQ(status.error().messages.front(),
            "the names that were put, and the counters of those that are gone, "
            "would take more than 20000 bytes");
  EXPECT_GT(gone, 10);
  EXPECT_LT(gone, 200);
  // A name that is there takes no more.
  EXPECT_TRUE(put("view", "limits: 6/m").ok());
}

// The limits of the other names are not looked at again.
TEST_F(LimiterPutTest, RemovesFromAmongMany) {
  std::string yaml = "schema: {user: {children: {";
  for (int i = 0; i < 30'000; ++i) {
    yaml += "n" + std::to_string(i) + ": {limits: 1/s}, ";
  }
  limiter_.emplace(tree_of(yaml + "}}}"), options_,
                   std::move(make_store(options_).value()));
  std::clock_t put_time = 0;
  std::clock_t remove_time = 0;
  for (int i = 0; i < 20; ++i) {
    std::clock_t begin = std::clock();
    put("view", "limits: 5/m");
    put_time += std::clock() - begin;
    begin = std::clock();
    EXPECT_TRUE(limiter().remove("view").ok());
    remove_time += std::clock() - begin;
  }
  EXPECT_LT(remove_time, 4 * put_time);
}

// Rules other than GCRA, and the limits of a process that decides alone.
TEST_F(LimiterPutTest, TheNewNameHasAllThatALoadedOneHas) {
  options_.local_share = {1, 2};
  put("view", "limits: {count: 4, period: 1m, algorithm: fixed_window}");
  put("view", "limits: {count: 6, period: 1m, algorithm: fixed_window}");
  EXPECT_EQ(left({"view"}), 5);
  clock_.advance(std::chrono::minutes(1));
  EXPECT_EQ(left({"view"}), 5);
}

// Each thread puts names of its own and sees them at once and from then on,
// whatever the others put, replace and load meanwhile; and readers see one
// tree or the other.
TEST_F(LimiterPutTest, PutsAndReloadsOfManyThreadsLoseNothing) {
  constexpr int kNames = 40;
  limiter();
  std::atomic<int> wrong = 0;
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kNames; ++i) {
        const std::string name =
            "n" + std::to_string(t) + "." + std::to_string(i);
        wrong +=
            !limiter().put(root_of(name, "limits: 9/m"), Replace::kNone).ok();
        wrong += left({name}) != 8;
        wrong += !limiter()
                      .put(root_of("shared", "limits: 9/m"), Replace::kAdded)
                      .ok();
        wrong += left({"user", "alex"}, 0) != 16;
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop) wrong += !limiter().reload(*tree_of(kYaml)).ok();
  });
  threads.emplace_back([&] {
    while (!stop) wrong += left({"user", "kate"}, 0) != 16;
  });
  for (std::size_t i = 0; i < 3; ++i) threads[i].join();
  stop = true;
  for (std::size_t i = 3; i < threads.size(); ++i) threads[i].join();
  EXPECT_EQ(wrong, 0);
  for (int t = 0; t < 3; ++t) {
    for (int i = 0; i < kNames; ++i) {
      const std::string name =
          "n" + std::to_string(t) + "." + std::to_string(i);
      EXPECT_EQ(left({name}), 7) << name;
    }
  }
  EXPECT_EQ(limiter().stats().limits, 3 * kNames + 2);
}

}  // namespace
}  // namespace limitree::put_test
