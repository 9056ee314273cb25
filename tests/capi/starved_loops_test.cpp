// Calls that do not block, while memory runs out in the loop that carries them:
// each of them ends once, and the next ones get their own answers.

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "capi/starving_new.hpp"
#include "core/store/memcached/memcached_server.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/temporary_folder.hpp"
#include "limitree.h"

namespace limitree::starved_loops_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kYaml[] =
    "schema: {user: {children: {'*': {limits: [[15, 30, 60], 5/day]}}}}";
constexpr std::size_t kCalls = 3;  // of each loop

limitree_str str(const std::string& text) { return {text.data(), text.size()}; }

struct Call {
  int ended = 0;
  limitree_status status = LIMITREE_PENDING;
  limitree_decision decision{};
};

// What a client of the program is to send, kept without memory.
struct Commands {
  std::array<std::uint64_t, 64> tokens{};
  std::size_t count = 0;

  static void add(const limitree_command* command, void* self) {
    auto& commands = *static_cast<Commands*>(self);
    if (commands.count == commands.tokens.size()) return;
    commands.tokens[commands.count++] = command->token;
  }
};

void complete(const limitree_completion* completions, std::size_t count,
              void*) {
  for (std::size_t i = 0; i < count; ++i) {
    auto& call = *static_cast<Call*>(completions[i].request);
    ++call.ended;
    call.status = completions[i].status;
    call.decision = completions[i].decision;
  }
}

// Two loops of one limiter, whose calls want the same buckets.
class Loops {
 public:
  // Without a URL, a client of the program.
  Loops(const std::string& url, Commands* commands) {
    limitree_config* const config = limitree_config_new();
    limitree_config_set_limits(config, str(kYaml), {}, nullptr);
    if (url.empty()) {
      limitree_config_set_client(config, Commands::add, 0, commands, nullptr,
                                 nullptr);
    } else {
      limitree_config_set(config, "store", str(url), nullptr);
    }
    // Calls that found no memory while they were at work wait for this.
    limitree_config_set(config, "timeout", {"30ms", 4}, nullptr);
    limitree_config_set_completion(config, complete, nullptr, nullptr, nullptr);
    limitree_limiter_new(config, &handles_[0], nullptr);
    limitree_limiter_new_loop(handles_[0], nullptr, &handles_[1], nullptr);
    limitree_config_free(config);
  }
  ~Loops() {
    limitree_limiter_free(handles_[1]);
    limitree_limiter_free(handles_[0]);
  }
  Loops(const Loops&) = delete;
  Loops& operator=(const Loops&) = delete;

  limitree_limiter* first() const { return handles_[0]; }

  void start(std::size_t loop, const std::string& name, Call* call) {
    const std::string user = "user";
    const limitree_str path[] = {str(user), str(name)};
    ASSERT_EQ(limitree_authorize_async(handles_[loop], path, 2, 1, call,
                                       &call->decision, nullptr),
              LIMITREE_PENDING);
  }

  // Opens the descriptors, which not every host wants.
  void watch() {
    for (limitree_limiter* const handle : handles_) limitree_loop_fd(handle);
  }

  // Waits until a loop is to run; false if none ever is.
  bool wait(bool by_descriptor) {
    pollfd watched[] = {{-1, POLLIN, 0}, {-1, POLLIN, 0}};
    int time_ms = 30'000;
    for (std::size_t i = 0; i < 2; ++i) {
      if (by_descriptor) {
        watched[i].fd = limitree_loop_fd(handles_[i]);
        continue;
      }
      const std::int64_t ns = limitree_loop_until_run(handles_[i]);
      if (ns == 0) return true;
      if (ns > 0)
        time_ms = std::min(time_ms, static_cast<int>(ns / 1'000'000) + 1);
    }
    const bool is_ready = poll(watched, 2, time_ms) > 0;
    return by_descriptor ? is_ready : time_ms < 30'000;
  }

  void run() {
    for (limitree_limiter* const handle : handles_) limitree_loop_run(handle);
  }

 private:
  std::array<limitree_limiter*, 2> handles_{};
};

struct Host {
  const char* name;
  const char* store;  // empty: a client of the program; "redis", ...
  bool is_warm;       // connected before memory runs out
  bool by_descriptor = true;
  bool answers = false;  // the client
};

class StarvedLoops : public testing::TestWithParam<Host> {
 protected:
  StarvedLoops() {
    const std::string store = GetParam().store;
    if (store == "redis") {
      redis_ = std::make_unique<redis::RedisServer>();
      url_ = "redis://127.0.0.1:" + std::to_string(redis_->port());
    } else if (store == "sentinel") {
      redis_ = std::make_unique<redis::RedisServer>();
      const std::string primary = std::to_string(redis_->port());
      sentinel_ =
          std::make_unique<redis::RedisServer>(redis::RedisServerOptions{
              .config = {"sentinel monitor main 127.0.0.1 " + primary + " 1"},
              .sentinel = true});
      url_ = "redis+sentinel://127.0.0.1:" + std::to_string(sentinel_->port()) +
             "/main";
    } else if (store == "cluster") {
      redis_ = std::make_unique<redis::RedisServer>(
          redis::RedisServerOptions{.config = {"cluster-enabled yes"}});
      redis_->cli({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
      url_ = "redis+cluster://127.0.0.1:" + std::to_string(redis_->port());
    } else if (store == "memcached") {
      memcached_ = std::make_unique<memcached::MemcachedServer>();
      url_ = "memcached://" + memcached_->host();
    }
  }

  // Runs the loops once they want it.
  [[nodiscard]] bool step(Loops* loops, long allocations) {
    if (!loops->wait(GetParam().by_descriptor)) return false;
    g_allocations_left = allocations;
    loops->run();
    is_starved_ = is_starved_ || g_allocations_left <= 0;
    g_allocations_left = std::numeric_limits<long>::max();
    for (; GetParam().answers && commands_.count > 0; --commands_.count) {
      limitree_client_reply(loops->first(),
                            commands_.tokens[commands_.count - 1],
                            LIMITREE_REPLY_ERROR, str("ERR no"));
    }
    return true;
  }

  // Calls about others get their own answers, with enough memory.
  void expect_answers(Loops* loops) {
    constexpr long kEnough = std::numeric_limits<long>::max();
    for (std::size_t loop = 0; loop < 2; ++loop) {
      // A server may be left alone for a while, and the machine may stand
      // still.
      const auto end = Clock::now() + std::chrono::seconds(30);
      do {
        other_ = {};
        loops->start(loop, "other" + std::to_string(++others_), &other_);
        while (other_.ended == 0) ASSERT_TRUE(step(loops, kEnough));
      } while (other_.status != LIMITREE_OK && Clock::now() < end);
      ASSERT_EQ(other_.status, LIMITREE_OK);
      EXPECT_EQ(other_.decision.limited, 0);
      EXPECT_EQ(other_.decision.remaining, 4) << "the answer of another call";
    }
  }

  std::unique_ptr<redis::RedisServer> redis_;
  std::unique_ptr<redis::RedisServer> sentinel_;
  std::unique_ptr<memcached::MemcachedServer> memcached_;
  std::string url_;
  Commands commands_;
  bool is_starved_ = false;
  Call other_;  // outlives the loops
  int others_ = 0;
};

INSTANTIATE_TEST_SUITE_P(
    Hosts, StarvedLoops,
    testing::Values(Host{"redis", "redis", false},
                    Host{"warm_redis", "redis", true},
                    // Their first calls wait for a search for servers.
                    Host{"sentinel", "sentinel", false},
                    Host{"warm_sentinel", "sentinel", true},
                    Host{"cluster", "cluster", false},
                    Host{"memcached", "memcached", false},
                    Host{"warm_memcached", "memcached", true},
                    Host{"client", "", false, true, true},
                    Host{"client_without_descriptor", "", false, false, true},
                    Host{"silent_client", "", false, false, false}),
    [](const auto& one) { return one.param.name; });

TEST_P(StarvedLoops, EndEachCallOnce) {
  constexpr int kStarvedRuns = 8;
  long allocations = 0;
  do {
    SCOPED_TRACE(allocations);
    commands_.count = 0;
    std::array<Call, 2 * kCalls> calls;  // the end of the loops ends them
    Loops loops(url_, &commands_);
    if (GetParam().by_descriptor) loops.watch();
    if (GetParam().is_warm) expect_answers(&loops);
    is_starved_ = false;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      loops.start(i % 2, "alex", &calls[i]);
    }
    const auto is_over = [&] {
      return std::ranges::all_of(calls,
                                 [](const Call& c) { return c.ended > 0; });
    };
    for (int run = 0; !is_over(); ++run) {
      const bool starves = run < kStarvedRuns;
      ASSERT_TRUE(step(
          &loops, starves ? allocations : std::numeric_limits<long>::max()))
          << "a call never ends";
    }
    for (const Call& call : calls) EXPECT_EQ(call.ended, 1);
    const bool is_last = !is_starved_;
    if (!url_.empty()) expect_answers(&loops);
    if (is_last) break;
    ++allocations;
  } while (!HasFailure());
  EXPECT_GT(allocations, 3) << "nothing was starved";
}

// Whatever a call waits for, a loop that is freed ends it.
TEST_P(StarvedLoops, AreFreedWithoutMemory) {
  constexpr long kEnough = std::numeric_limits<long>::max();
  for (int runs = 0; runs < 6; ++runs) {
    for (const long allocations : {0L, 1L, 3L, 10L}) {
      SCOPED_TRACE(testing::Message() << runs << " runs, " << allocations);
      commands_.count = 0;
      std::array<Call, 2 * kCalls> calls;
      {
        Loops loops(url_, &commands_);
        if (GetParam().by_descriptor) loops.watch();
        if (GetParam().is_warm) expect_answers(&loops);
        for (std::size_t i = 0; i < calls.size(); ++i) {
          loops.start(i % 2, "alex", &calls[i]);
        }
        for (int run = 0; run < runs && calls[0].ended + calls[1].ended == 0;
             ++run) {
          ASSERT_TRUE(step(&loops, kEnough));
        }
        g_allocations_left = allocations;
      }
      g_allocations_left = kEnough;
      for (const Call& call : calls) {
        EXPECT_EQ(call.ended, 1);
        if (runs == 0) {
          EXPECT_EQ(call.status, LIMITREE_CANCELLED);
        }
      }
    }
  }
}

// The same for calls that block, whose thread may have a turn that others wait
// for.
TEST_P(StarvedLoops, BlockingCallsHaveAStatus) {
  const auto ask = [](const Loops& loops, const std::string& name,
                      limitree_decision* decision) {
    const std::string user = "user";
    const limitree_str path[] = {str(user), str(name)};
    return limitree_authorize(loops.first(), path, 2, 1, decision, nullptr);
  };
  limitree_decision decision{};
  const auto expect_answer = [&](const Loops& loops) {
    const auto end = Clock::now() + std::chrono::seconds(30);
    limitree_status status = LIMITREE_PENDING;
    while (status != LIMITREE_OK && Clock::now() < end) {
      status = ask(loops, "other" + std::to_string(++others_), &decision);
    }
    ASSERT_EQ(status, LIMITREE_OK);
    EXPECT_EQ(decision.remaining, 4) << "the answer of another call";
  };
  long allocations = 0;
  for (long left = 0; left <= 0 && !HasFailure(); ++allocations) {
    SCOPED_TRACE(allocations);
    const Loops loops(url_, &commands_);
    if (GetParam().is_warm) expect_answer(loops);
    g_allocations_left = allocations;
    const limitree_status status = ask(loops, "alex", &decision);
    left = std::exchange(g_allocations_left, std::numeric_limits<long>::max());
    EXPECT_LE(status, LIMITREE_OK);
    if (!url_.empty()) expect_answer(loops);
  }
  EXPECT_GT(allocations, 1) << "nothing was starved";
}

// A store that may wait answers most calls at once: those that fail for want of
// memory have charged nothing.
TEST(StarvedShared, ChargesNothingInVain) {
  const TemporaryFolder folder("starved");
  limitree_config* const config = limitree_config_new();
  const std::string url = "shm://" + folder.path() + "/limits?max_buckets=5000";
  limitree_config_set(config, "store", str(url), nullptr);
  limitree_config_set_limits(config, str(kYaml), {}, nullptr);
  const std::string rules =
      "{domain: d, descriptors: [{key: a, rate_limit: {unit: day, "
      "requests_per_unit: 100}}]}";
  const limitree_file file = {str(rules), {"d.yaml", 6}};
  ASSERT_EQ(limitree_config_add_descriptors(config, &file, 1, 0, nullptr),
            LIMITREE_OK);
  limitree_config_set_completion(config, complete, nullptr, nullptr, nullptr);
  limitree_limiter* limiter = nullptr;
  ASSERT_EQ(limitree_limiter_new(config, &limiter, nullptr), LIMITREE_OK);
  limitree_config_free(config);

  const auto starve = [](const auto& call) {
    limitree_status status = LIMITREE_OUT_OF_MEMORY;
    long allocations = 0;
    for (; status == LIMITREE_OUT_OF_MEMORY; ++allocations) {
      g_allocations_left = allocations;
      status = call();
      g_allocations_left = std::numeric_limits<long>::max();
    }
    EXPECT_EQ(status, LIMITREE_OK);
    EXPECT_GT(allocations, 3) << "nothing was starved";
  };
  // Of each so many that there is something to allocate.
  constexpr std::size_t kMany = 40;
  const std::string user = "user";
  std::array<std::string, kMany> names;
  std::array<std::array<limitree_str, 2>, kMany> segments;
  std::array<limitree_path, kMany> paths;
  for (std::size_t i = 0; i < kMany; ++i) {
    names[i] = "caller" + std::to_string(i);
    segments[i] = {str(user), str(names[i])};
    paths[i] = {segments[i].data(), 2, 1, LIMITREE_PART_CHARGE};
  }
  std::array<limitree_level, 2 * kMany> levels;
  limitree_decision decision{};
  starve([&] {
    return limitree_decide_async(limiter, LIMITREE_AUTHORIZE, paths.data(),
                                 kMany, nullptr, levels.data(), levels.size(),
                                 &decision, nullptr);
  });
  EXPECT_EQ(levels[0].remaining, 15);

  const limitree_entry entry = {{"a", 1}, {"", 0}};
  std::array<limitree_descriptor, kMany> descriptors{};
  for (limitree_descriptor& one : descriptors) {
    one.entries = &entry;
    one.entry_count = 1;
  }
  limitree_envoy_request request{};
  request.domain = {"d", 1};
  request.descriptors = descriptors.data();
  request.descriptor_count = kMany;
  std::array<limitree_descriptor_status, kMany> statuses;
  limitree_envoy_response response{};
  starve([&] {
    return limitree_should_rate_limit_async(
        limiter, &request, nullptr, statuses.data(), kMany, &response, nullptr);
  });
  EXPECT_EQ(statuses[0].limit_remaining, 99);
  limitree_limiter_free(limiter);
}

}  // namespace
}  // namespace limitree::starved_loops_test
