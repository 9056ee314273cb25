#include "store/remote/drivers/blocking_driver.hpp"

#include <gtest/gtest.h>

#include "core/store/redis/chaos_proxy.hpp"
#include "core/store/redis/drive_cases.hpp"
#include "core/store/redis/redis_server.hpp"
#include "store/redis/common/remote.hpp"

namespace limitree::redis {
namespace {

using Fate = Outcome::Fate;

struct Driver {
  explicit Driver(int port, Duration timeout = 5s)
      : settings(settings_for(timeout)),
        router(settings, &traffic, local(port)),
        driver(&router, settings) {}

  void run(EchoTask* task) { driver.run(task, settings.timeout); }

  bool answers(const std::string& text) {
    EchoTask task(text);
    run(&task);
    return task.right();
  }

  const Settings settings;
  Traffic traffic;
  FakeRouter router;
  BlockingDriver driver;
};

TEST(BlockingDriver, CarriesATaskThrough) {
  const RedisServer server;
  Driver driver(server.port());
  EXPECT_TRUE(driver.answers("a"));
  EXPECT_EQ(driver.router.discoveries, 0);
}

TEST(BlockingDriver, Pauses) {
  const RedisServer server;
  Driver driver(server.port());
  EchoTask task("a");
  task.pauses = {10ms, 20ms};
  const Monotonic start = now();
  driver.run(&task);
  EXPECT_TRUE(task.right());
  EXPECT_GE(now() - start, 30ms);
}

TEST(BlockingDriver, DoesNotBeginAPauseThatOutlastsTheDeadline) {
  const RedisServer server;
  Driver driver(server.port(), 10s);
  EchoTask task("a");
  task.pauses = {20s};
  const Monotonic start = now();
  driver.run(&task);
  EXPECT_LT(now() - start, 5s);
  ASSERT_TRUE(task.done);
  EXPECT_EQ(task.outcome.fate, Fate::kNotSent);
  EXPECT_EQ(task.outcome.failure, Failure::kTimeout);
}

TEST(BlockingDriver, FindsOutWhereTheServerIs) {
  const RedisServer server;
  Driver driver(server.port());
  driver.router.known = false;
  EXPECT_TRUE(driver.answers("a"));
  EXPECT_TRUE(driver.answers("b"));
  EXPECT_EQ(driver.router.discoveries, 1);
}

TEST(BlockingDriver, FindsOutAgainAfterMemoryRanOut) {
  const RedisServer server;
  Driver driver(server.port());
  driver.router.known = false;
  driver.router.starved = true;
  EchoTask task("a");
  EXPECT_THROW(driver.run(&task), std::bad_alloc);
  EXPECT_TRUE(driver.answers("b"));
  EXPECT_EQ(driver.router.discoveries, 2);
}

TEST(BlockingDriver, OneFindsOutForAll) {
  const RedisServer server;
  ChaosProxy proxy(server.port());
  proxy.delay_us = 50'000;
  Driver driver(proxy.port());
  driver.router.known = false;
  std::atomic<int> right = 0;
  on_threads(32, [&](int i) { right += driver.answers(std::to_string(i)); });
  EXPECT_EQ(right, 32);
  EXPECT_EQ(driver.router.discoveries, 1);
}

TEST(BlockingDriver, TellsWhyNoServerIsKnown) {
  const RedisServer server;
  Driver driver(server.port());
  driver.router.known = false;
  driver.router.finds = false;
  EchoTask task("a");
  driver.run(&task);
  ASSERT_TRUE(task.done);
  EXPECT_EQ(task.outcome.fate, Fate::kNotSent);
  EXPECT_EQ(task.outcome.failure, Failure::kMasterDown);
  EXPECT_EQ(task.outcome.detail, "sentinels: no primary");
  EXPECT_EQ(driver.router.discoveries, 1);
}

TEST(BlockingDriver, TellsThatThereIsNothingToFindOut) {
  const RedisServer server;
  Driver driver(server.port());
  driver.router.known = false;
  driver.router.no_discovery = true;
  EchoTask task("a");
  driver.run(&task);
  ASSERT_TRUE(task.done);
  EXPECT_EQ(task.outcome.failure, Failure::kMasterDown);
}

TEST(BlockingDriver, KeepsDeadlinesWhileFindingOut) {
  RedisServer server;
  Driver driver(server.port(), 100ms);
  driver.router.known = false;
  server.suspend();
  std::atomic<std::int64_t> longest = 0;
  std::atomic<int> told = 0;
  on_threads(16, [&](int) {
    EchoTask task("a");
    const Stopwatch watch;
    driver.run(&task);
    const std::int64_t took = watch.time().count();
    if (took > longest) longest = took;
    told += task.done && task.outcome.fate == Fate::kNotSent;
  });
  EXPECT_EQ(told, 16);
  EXPECT_LE(Duration(longest), 100ms + kGrace);
}

// The caller that asks gives up at its deadline.  The others have more time, so
// one of them asks next.
TEST(BlockingDriver, AnotherFindsOutIfTheFirstHasNoTimeLeft) {
  RedisServer server;
  Driver driver(server.port());
  driver.router.known = false;
  server.suspend();
  std::thread first([&] {
    EchoTask task("a");
    driver.driver.run(&task, 100ms);
    EXPECT_EQ(task.outcome.fate, Fate::kNotSent);
  });
  ASSERT_TRUE(soon([&] { return driver.router.discoveries == 1; }));
  std::thread waker([&] {
    first.join();
    server.resume();
  });
  EXPECT_TRUE(driver.answers("b"));
  waker.join();
  EXPECT_EQ(driver.router.discoveries, 2);
}

TEST(BlockingDriver, AServerThatHangsLeavesTimeToAskAnother) {
  const RedisServer server;
  ChaosProxy hangs(server.port());
  hangs.swallow = true;
  Driver driver(server.port(), kSanitized ? 2000ms : 1000ms);
  driver.router.known = false;
  driver.router.asked_first = local(hangs.port());
  EXPECT_TRUE(driver.answers("a"));
}

TEST(BlockingDriver, RoutesAgainWhatWasNotSent) {
  const FreePort port;
  Driver driver(port.number());
  driver.router.learns = true;
  EchoTask task("a");
  driver.run(&task);
  ASSERT_TRUE(task.done);
  EXPECT_EQ(task.outcome.fate, Fate::kNotSent);
  EXPECT_EQ(driver.router.lessons, 6);  // one attempt and five retries
}

TEST(BlockingDriver, NeverSendsAgainWhatMayHaveBeenCarriedOut) {
  const RedisServer server;
  ChaosProxy proxy(server.port());
  Driver driver(proxy.port(), 100ms);
  ASSERT_TRUE(soon([&] { return driver.answers("a"); }));
  driver.router.lessons = 0;
  driver.router.learns = true;
  proxy.swallow = true;
  EchoTask task("b");
  driver.run(&task);
  ASSERT_TRUE(task.done);
  EXPECT_EQ(task.outcome.fate, Fate::kUnknown);
  EXPECT_EQ(task.outcome.failure, Failure::kTimeout);
  EXPECT_EQ(driver.router.lessons, 1);
}

TEST(BlockingDriver, ChecksNowAndThen) {
  const RedisServer server;
  Driver driver(server.port());
  ASSERT_TRUE(driver.answers("a"));
  driver.router.check = true;
  ASSERT_TRUE(driver.answers("b"));
  EXPECT_TRUE(soon([&] {
    EXPECT_TRUE(driver.answers("c"));
    return driver.router.checks == 1;
  }));
}

}  // namespace
}  // namespace limitree::redis
