#include "decisions/store_loop.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "io/descriptor_limit.hpp"
#include "io/failure.hpp"
#include "limitree.hpp"

namespace limitree::server {
namespace {

struct Seen {
  int completions = 0;
  int failures = 0;
  int ends = 0;
};

template <typename Exception>
class Throwing final : public PendingRequest {
 public:
  Throwing(StoreLoop* loop, Seen* seen)
      : PendingRequest(loop, kNever), seen_(seen) {}
  ~Throwing() override { ++seen_->ends; }

  void complete(const limitree_completion& /*completion*/) override {
    ++seen_->completions;
    throw Exception();
  }
  void fail() override {
    ++seen_->failures;
    throw Exception();
  }

 private:
  Seen* seen_;
};

struct Wrong : std::runtime_error {
  Wrong() : std::runtime_error("wrong") {}
};

struct Unknown {};  // no std::exception

// The library, which is C, calls it.
TEST(StoreLoop, NoExceptionLeavesACompletion) {
  Config config;
  Limiter limiter(config);
  Loop loop;
  StoreLoop store_loop(&loop, limiter.get());
  Seen seen;
  limitree_completion completions[3] = {};
  completions[0].request =
      static_cast<PendingRequest*>(new Throwing<Wrong>(&store_loop, &seen));
  completions[1].request = static_cast<PendingRequest*>(
      new Throwing<std::bad_alloc>(&store_loop, &seen));
  completions[2].request =
      static_cast<PendingRequest*>(new Throwing<Unknown>(&store_loop, &seen));
  EXPECT_NO_THROW(complete_requests(completions, 3, nullptr));
  EXPECT_EQ(seen.completions, 3);
  EXPECT_EQ(seen.failures, 3);
  EXPECT_EQ(seen.ends, 3);
}

TEST(StoreLoop, NeverWaitsOnlyForMemory) {
  Loop loop;
  Config config;
  Limiter limiter(config);
  const StoreLoop store_loop(&loop, limiter.get());
  EXPECT_TRUE(store_loop.never_waits());
}

// A worker whose decisions blocked would keep all its clients waiting.
TEST(StoreLoop, NeedsADescriptorForAStoreThatOthersShare) {
  Loop loop;
  const std::string path =
      testing::TempDir() + "limitree-store-loop-" + std::to_string(getpid());
  Config config;
  config.set("store", "shm://" + path + "?max_buckets=4096");
  {
    Limiter limiter(config);
    {
      Limiter other(config);
      EXPECT_FALSE(StoreLoop(&loop, other.get()).never_waits());
      const DescriptorLimit limit(0);
      EXPECT_THROW(StoreLoop(&loop, limiter.get()), Failure);
    }
    const StoreLoop store_loop(&loop, limiter.get());
    EXPECT_FALSE(store_loop.never_waits());
  }
  unlink(path.c_str());
}

}  // namespace
}  // namespace limitree::server
