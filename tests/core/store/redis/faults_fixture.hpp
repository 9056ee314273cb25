// A fixture for failures of a real server: calls that return their outcome as
// one word, and a check that no call outlives its deadline.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include "core/store/redis/lateness.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/store_settings.hpp"
#include "store/redis/redis_store.hpp"

namespace limitree::redis {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

inline constexpr milliseconds kFaultGrace(20);
inline constexpr milliseconds kTimeout(100);
inline constexpr milliseconds kPatient(20'000);  // where the server answers

class FaultsTest : public testing::Test {
 protected:
  Settings settings_for(const RedisServer& server,
                        Duration timeout = kTimeout) {
    timeout_ = std::max(timeout_, timeout);
    Settings settings =
        store_settings("redis://127.0.0.1:" + std::to_string(server.port()));
    settings.timeout = timeout;
    return settings;
  }

  // Makes one request.  Returns "ok" or the reason for its failure.
  std::string ask(RedisStore* store, const std::string& name = "alex") {
    Plan plan(Operation::kAuthorize);
    plan.segments.emplace_back(name, Segment::Kind::kCaller);
    plan.add_level(&limit_, 0u, 1u, 1);
    const Duration waited = waited_for_processor();
    const auto begin = Steady::now();
    const Status status = store->decide(&plan);
    const Duration took =
        Steady::now() - begin - (waited_for_processor() - waited);
    {
      const std::lock_guard lock(mutex_);
      slowest_ = std::max(slowest_, took);
    }
    return status.ok() ? "ok" : status.error().reason;
  }

  // Asks until a request succeeds, for a minute at most.
  bool recovers(RedisStore* store) {
    const auto end = Steady::now() + std::chrono::minutes(1);
    while (Steady::now() < end) {
      if (ask(store) == "ok") return true;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return false;
  }

  void TearDown() override {
    // A busy machine delays a caller twice: when it is woken, and when it
    // continues after that.
    EXPECT_LE(slowest_, timeout_ + kFaultGrace + 2 * lateness_.worst())
        << "a call outlived its deadline";
  }

  const Limit limit_ = [] {
    Limit limit;
    limit.rate = {milliseconds(1), 1'000'000};
    return limit;
  }();
  Lateness lateness_;
  Duration timeout_ = kTimeout;  // the longest of the stores
  std::mutex mutex_;
  Steady::duration slowest_{};
};

}  // namespace limitree::redis
