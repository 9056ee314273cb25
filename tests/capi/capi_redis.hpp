// Limiters of limitree.h over a real Redis, for tests.

#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/store/redis/redis_server.hpp"
#include "limitree.hpp"

namespace limitree::capi_test {

using redis::RedisServer;

inline constexpr const char* kLimits = R"(
schema:
  user:
    children:
      "*":
        limits: [15, 30, 60]
        children:
          trade: {limits: [5, 10, 15]}
)";

inline limitree_str str(const std::string& text) {
  return {text.data(), text.size()};
}

struct Free {
  void operator()(limitree_limiter* limiter) const {
    limitree_limiter_free(limiter);
  }
  void operator()(limitree_config* config) const {
    limitree_config_free(config);
  }
  void operator()(limitree_error* error) const { limitree_error_free(error); }
};
using Limiter = std::unique_ptr<limitree_limiter, Free>;
using Config = std::unique_ptr<limitree_config, Free>;

// Collects completions by the ids that their calls were given.
struct Inbox {
  static void put(const limitree_completion* completions, size_t count,
                  void* inbox) {
    auto* const self = static_cast<Inbox*>(inbox);
    ++self->batches;
    for (size_t i = 0; i < count; ++i) {
      const auto id = reinterpret_cast<std::uintptr_t>(completions[i].request);
      ++self->calls[id];
      self->status[id] = completions[i].status;
      self->decision[id] = completions[i].decision;
      if (completions[i].error != nullptr) {
        self->reason[id] = limitree_error_reason(completions[i].error);
      }
    }
  }

  int batches = 0;
  std::map<std::uintptr_t, int> calls;
  std::map<std::uintptr_t, limitree_status> status;
  std::map<std::uintptr_t, limitree_decision> decision;
  std::map<std::uintptr_t, std::string> reason;
};

class CapiRedis : public testing::Test {
 protected:
  static RedisServer& server() {
    static RedisServer server;
    return server;
  }

  using Options = std::map<std::string, std::string>;

  static Limiter limiter_on(const std::string& url, Inbox* inbox,
                            const Options& options = {}) {
    return limiter_on(url, inbox == nullptr ? nullptr : Inbox::put, inbox,
                      options);
  }

  static Limiter limiter_on(const std::string& url,
                            limitree_completion_fn on_completion,
                            void* user_data, const Options& options) {
    const Config config(limitree_config_new());
    limitree_error* error = nullptr;
    const auto set = [&](const char* name, const std::string& value) {
      EXPECT_EQ(limitree_config_set(config.get(), name, str(value), &error), 0)
          << name;
    };
    EXPECT_EQ(limitree_config_set_limits(config.get(), str(kLimits),
                                         str("limits.yaml"), &error),
              0);
    set("store", url);
    set("timeout", "5s");
    for (const auto& [name, value] : options) set(name.c_str(), value);
    if (on_completion != nullptr) {
      EXPECT_EQ(limitree_config_set_completion(config.get(), on_completion,
                                               user_data, nullptr, &error),
                0);
    }
    limitree_limiter* limiter = nullptr;
    EXPECT_EQ(limitree_limiter_new(config.get(), &limiter, &error), 0);
    return Limiter(limiter);
  }

  // Another handle of the limiter, whose completions go to `user_data`.
  static Limiter new_loop(const Limiter& limiter, void* user_data) {
    limitree_limiter* other = nullptr;
    EXPECT_EQ(
        limitree_limiter_new_loop(limiter.get(), user_data, &other, nullptr),
        0);
    return Limiter(other);
  }

  static void reload(const Limiter& limiter, const std::string& yaml) {
    EXPECT_EQ(limitree_limiter_reload(limiter.get(), str(yaml),
                                      str("limits.yaml"), nullptr),
              0);
  }

  static limitree::Counters stats_of(const Limiter& limiter) {
    return limitree::totals(limiter.get(),
                            LIMITREE_SCOPE_REQUESTS | LIMITREE_SCOPE_STORE);
  }

  static std::string url() { return url_of(server()); }
  static std::string url_of(const RedisServer& server) {
    return "redis://127.0.0.1:" + std::to_string(server.port());
  }

  static limitree_status start(limitree_limiter* limiter,
                               const std::string& user, std::uintptr_t id,
                               limitree_decision* decision,
                               limitree_error** error = nullptr) {
    const std::string root = "user";
    const std::string action = "trade";
    const limitree_str path[] = {str(root), str(user), str(action)};
    return limitree_authorize_async(
        limiter, path, 3, 1, reinterpret_cast<void*>(id), decision, error);
  }

  // Runs the loop until `complete` calls are complete.
  static void run(limitree_limiter* limiter, const Inbox& inbox,
                  std::size_t complete) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (inbox.calls.size() < complete &&
           std::chrono::steady_clock::now() < end) {
      pollfd watched = {limitree_loop_fd(limiter), POLLIN, 0};
      ASSERT_GE(watched.fd, 0);
      poll(&watched, 1, 1000);
      limitree_loop_run(limiter);
    }
  }

  void SetUp() override { server().cli({"FLUSHALL"}); }
};

}  // namespace limitree::capi_test
