#include "decisions/store_loop.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

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

}  // namespace
}  // namespace limitree::server
