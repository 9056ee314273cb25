// What a caller sees when a real server fails: an answer or a named failure
// within its time, and service again as soon as the server recovers.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "core/store/manual_clock.hpp"
#include "core/store/memcached/asking.hpp"
#include "core/store/memcached/memcached_server.hpp"
#include "core/store/redis/await.hpp"
#include "store/memcached/memcached_store.hpp"

namespace limitree::memcached {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Settings settings_for(const MemcachedServer& server,
                      milliseconds timeout = seconds(20)) {
  Settings settings = store_settings("memcached://" + server.host());
  settings.timeout = timeout;
  return settings;
}

// A server with room for two megabytes.
const std::vector<std::string> kSmall = {"-m", "2", "-t", "1"};

// One of many, with a long name, so that few of them fill such a server.
std::string caller_of(int number) {
  return std::to_string(number) + std::string(180, 'x');
}

// Of a server's own statistics.
std::int64_t stat_of(const MemcachedServer& server, const std::string& name) {
  const std::string all = server.ask("stats\r\n", "END\r\n");
  const std::size_t at = all.find("STAT " + name + ' ');
  return std::stoll(all.substr(at + 6 + name.size()));
}

// Either driver.
class FaultsOfServer : public testing::TestWithParam<bool> {
 protected:
  const Limit limit_ = limit_of(1'000'000);
};

TEST_P(FaultsOfServer, DownAtStart) {
  MemcachedServer server;
  server.kill();
  MemcachedStore store(settings_for(server), Clock());
  Asker asker(&store, GetParam());
  EXPECT_EQ(asker.reason("alex", limit_), "refused");
  for (int i = 0; i < 50; ++i) {
    const std::string reason = asker.reason("alex", limit_);
    EXPECT_TRUE(reason == "refused" || reason == "backoff") << reason;
  }
  server.start();
  await("the server", [&] { return asker.reason("alex", limit_) == "ok"; });
}

TEST_P(FaultsOfServer, KilledAndStartedAgainInTraffic) {
  MemcachedServer server;
  MemcachedStore store(settings_for(server), Clock());
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Asker asker(&store, GetParam());
      while (!stop) asker.reason("thread" + std::to_string(t), limit_);
    });
  }
  Asker asker(&store, GetParam());
  for (int round = 0; round < 3; ++round) {
    await("the server", [&] { return asker.reason("alex", limit_) == "ok"; });
    server.kill();
    EXPECT_NE(asker.reason("alex", limit_), "ok");
    server.start();
  }
  await("the server", [&] { return asker.reason("alex", limit_) == "ok"; });
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(stat_of(server, "total_connections"), 200);
}

// The first requests take their time.  Later ones mostly fail at once, and
// service returns without any help.
TEST_P(FaultsOfServer, SuspendedServer) {
  MemcachedServer server;
  MemcachedStore store(settings_for(server, seconds(1)), Clock());
  Asker asker(&store, GetParam());
  await("the server", [&] { return asker.reason("alex", limit_) == "ok"; });
  server.suspend();
  EXPECT_EQ(asker.reason("alex", limit_), "timeout");
  for (int i = 0; i < 200; ++i) EXPECT_NE(asker.reason("alex", limit_), "ok");
  server.resume();
  await("the server", [&] { return asker.reason("alex", limit_) == "ok"; });
}

// Only callers whose buckets have been evicted start again.
TEST(FaultsOfFullServer, EvictsWhatItHasNoRoomFor) {
  const MemcachedServer server(kSmall);
  MemcachedStore store(settings_for(server), Clock());
  Asker asker(&store, false);
  const Limit one = limit_of(1);
  int callers = 0;
  while (stat_of(server, "evictions") == 0) {
    for (int i = 0; i < 500; ++i) {
      ASSERT_EQ(asker.reason(caller_of(callers++), one), "ok");
    }
    ASSERT_LT(callers, 200'000);
  }
}

TEST(FaultsOfFullServer, OutOfMemory) {
  const MemcachedServer server([] {
    std::vector<std::string> arguments = kSmall;
    arguments.emplace_back("-M");
    return arguments;
  }());
  MemcachedStore store(settings_for(server), Clock());
  Asker asker(&store, false);
  const Limit hour = [] {
    Limit limit;
    limit.rate = {std::chrono::hours(1), 2};
    return limit;
  }();
  ASSERT_EQ(asker.reason("first", hour), "ok");
  std::string reason = "ok";
  for (int i = 0; reason == "ok" && i < 200'000; ++i) {
    reason = asker.reason(caller_of(i), hour);
  }
  EXPECT_EQ(reason, "oom");
  // Nobody is admitted without being counted.
  int admitted = 1;
  for (int i = 0; i < 20; ++i) {
    bool limited = false;
    admitted += asker.ask({"first"}, hour, &limited).ok() && !limited ? 1 : 0;
  }
  EXPECT_LE(admitted, 2);
  server.ask("flush_all\r\n");
  await("room", [&] { return asker.reason("new", hour) == "ok"; });
}

// What the driver knows such a failure by.
TEST(FaultsOfFullServer, AnItemThatIsTooLarge) {
  const MemcachedServer server;
  EXPECT_EQ(
      server.ask("ms k 2000000 T0\r\n" + std::string(2'000'000, 'x') + "\r\n"),
      "SERVER_ERROR object too large for cache\r\n");
}

// memcached tells no time, so an item keeps the latest instant of its writers.
TEST_P(FaultsOfServer, ClocksThatDiffer) {
  const MemcachedServer server;
  const Settings settings = settings_for(server);
  ManualClock ahead;
  ManualClock behind;
  const Limit one = limit_of(1);
  MemcachedStore fast(settings, ahead.clock());
  MemcachedStore slow(settings, behind.clock());
  Asker asks_fast(&fast, GetParam());
  Asker asks_slow(&slow, GetParam());
  ahead.advance(seconds(60));
  bool limited = true;
  ASSERT_TRUE(asks_fast.ask({"alex"}, one, &limited).ok());
  EXPECT_FALSE(limited);
  ASSERT_TRUE(asks_slow.ask({"alex"}, one, &limited).ok());
  EXPECT_TRUE(limited);
  ahead.advance(seconds(1));
  ASSERT_TRUE(asks_fast.ask({"alex"}, one, &limited).ok());
  const Status status = asks_slow.ask({"alex"}, one);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, std::string("clock"));
}

INSTANTIATE_TEST_SUITE_P(Drivers, FaultsOfServer, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& by_loop) {
                           return by_loop.param ? "Loop" : "Blocking";
                         });

}  // namespace
}  // namespace limitree::memcached
