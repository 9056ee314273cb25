// What a caller sees while a real server loads its data, drops or pauses its
// clients, has its clock changed, or cannot be reached.

#include <atomic>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "core/store/redis/faults_fixture.hpp"
#include "core/store/redis/test_network.hpp"

namespace limitree::redis::interruptions_test {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class InterruptionsTest : public FaultsTest {
 protected:
  // Asks from another thread while `act` runs; returns every outcome seen.
  template <typename Act>
  std::set<std::string> outcomes_during(RedisStore* store, Act act) {
    std::set<std::string> seen;
    std::atomic<bool> stop = false;
    std::thread caller([&] {
      while (!stop) seen.insert(ask(store));
    });
    act();
    stop = true;
    caller.join();
    return seen;
  }
};

TEST_F(InterruptionsTest, ServerThatLoadsItsData) {
  RedisServer server(
      {.config = {"key-load-delay 500",
                  "loading-process-events-interval-bytes 1024"}});
  server.cli({"EVAL",
              "for i = 1, 3000 do "
              "redis.call('SET', 'key' .. i, string.rep('x', 100)) end",
              "0"});
  server.cli({"SAVE"});
  RedisStore store(settings_for(server), std::nullopt);
  ASSERT_TRUE(recovers(&store));
  const std::set<std::string> seen =
      outcomes_during(&store, [&] { server.restart(); });
  EXPECT_TRUE(seen.count("loading"));
  EXPECT_TRUE(recovers(&store));
}

// Connections may break at any time.  A command that was not sent goes over
// another connection.  If it was sent, it is unknown whether it was charged.
TEST_F(InterruptionsTest, ClientsAreKilledAllTheTime) {
  RedisServer server;
  RedisStore store(settings_for(server, kPatient), std::nullopt);
  const std::set<std::string> seen = outcomes_during(&store, [&] {
    for (int i = 0; i < 100; ++i) {
      server.cli({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
      std::this_thread::sleep_for(milliseconds(5));
    }
  });
  EXPECT_TRUE(seen.count("ok"));
  for (const std::string& outcome : seen) {
    EXPECT_TRUE(outcome == "ok" || outcome == "lost" || outcome == "backoff")
        << outcome;
  }
  EXPECT_TRUE(recovers(&store));
}

TEST_F(InterruptionsTest, ClientsArePaused) {
  RedisServer server;
  RedisStore store(settings_for(server), std::nullopt);
  ASSERT_TRUE(recovers(&store));
  server.cli({"CLIENT", "PAUSE", "1000"});
  EXPECT_EQ(ask(&store), "timeout");
  EXPECT_TRUE(recovers(&store));
}

// ---- the time of day --------------------------------------------------------

class ServerClockTest : public InterruptionsTest {
 protected:
  void set_shift(std::chrono::seconds by) {
    const std::int64_t shift = by.count();
    // Written in place, because the server has the file mapped.
    std::fstream file(clock_, std::ios::in | std::ios::out | std::ios::binary);
    file.write(reinterpret_cast<const char*>(&shift), sizeof shift);
  }

  Verdict charge(std::int64_t cost) {
    Plan plan(Operation::kAuthorize);
    plan.segments.emplace_back("alex", Segment::Kind::kCaller);
    plan.add_level(&hourly_, 0u, 1u, cost);
    EXPECT_TRUE(store_.decide(&plan).ok());
    return plan.levels[0].verdict;
  }

  static std::string made(std::string path) {
    std::ofstream(path, std::ios::binary).write("\0\0\0\0\0\0\0", 8);
    return path;
  }

  const TemporaryFolder folder_{"clock"};
  const std::string clock_ = made(folder_.path() + "/shift");
  const Limit hourly_ = [] {
    Limit limit;
    limit.rate = {std::chrono::minutes(6), 10};
    return limit;
  }();
  RedisServer server_{{.launcher = {"env", "SHIFTED_CLOCK=" + clock_,
                                    "LD_PRELOAD=" LIMITREE_TEST_CLOCK}}};
  RedisStore store_{settings_for(server_, kPatient), std::nullopt};
};

TEST_F(ServerClockTest, SetBackLocksNobodyOut) {
  charge(10);
  set_shift(-hours(24));
  const Verdict denied = charge(1);
  ASSERT_TRUE(denied.limited);
  EXPECT_LE(denied.retry_after, hours(1));
  // The promised time holds, because the denied request also moved the state.
  set_shift(-hours(24) +
            std::chrono::ceil<seconds>(denied.retry_after + seconds(1)));
  EXPECT_FALSE(charge(1).limited);
}

TEST_F(ServerClockTest, SetForwardForgetsAsMuchAsTimeHasPassed) {
  charge(10);
  set_shift(hours(24));
  EXPECT_EQ(charge(10).remaining, 0);
  EXPECT_TRUE(charge(1).limited);
}

// ---- the network ------------------------------------------------------------

TEST_F(InterruptionsTest, NetworkThatIsSplit) {
  TestNetwork network;
  if (!network.make()) GTEST_SKIP() << "needs root, for network namespaces";
  RedisServer server({.config = {"bind " + network.host(), "protected-mode no"},
                      .launcher = {"ip", "netns", "exec", network.name()}});
  Settings settings = store_settings("redis://" + network.host() + ":" +
                                     std::to_string(server.port()));
  settings.timeout = kTimeout;
  RedisStore store(settings, std::nullopt);
  ASSERT_TRUE(recovers(&store));
  network.cut();
  EXPECT_EQ(ask(&store), "timeout");
  const auto end = Steady::now() + seconds(1);
  int calls = 0;
  while (Steady::now() < end) {
    EXPECT_NE(ask(&store), "ok");
    ++calls;
  }
  EXPECT_GT(calls, 20) << "too many callers still wait";
  network.join();
  EXPECT_TRUE(recovers(&store));
}

}  // namespace
}  // namespace limitree::redis::interruptions_test
