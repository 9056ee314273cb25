// Finding and following the primary with real sentinels.

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "core/store/redis/await.hpp"
#include "core/store/redis/documented_rights.hpp"
#include "core/store/redis/drive_cases.hpp"
#include "core/store/redis/load.hpp"
#include "core/store/redis/topology/sentinel_fixture.hpp"
#include "store/redis/route/sentinel_router.hpp"

namespace limitree::redis::sentinel_failover_test {
namespace {

Settings settings_of(const std::string& url, Duration timeout = 50ms) {
  Settings settings;
  settings.url = parse_url(url).value();
  settings.login.user = settings.url.user;
  settings.login.password = settings.url.password;
  settings.login.db = settings.url.db;
  settings.timeout = timeout;
  return settings;
}

int sum(RedisServer& server, const std::vector<std::string>& keys) {
  int all = 0;
  for (const std::string& key : keys) {
    const std::string value = server.cli({"GET", key});
    if (value != "(nil)") all += std::stoi(value);
  }
  return all;
}

const std::vector<std::string> kKeys = {"a", "b", "c", "d"};

TEST(Sentinel, LogsInAtBothKinds) {
  SentinelFixtureOptions options;
  options.password = "one";
  options.sentinel_password = "two";
  SentinelFixture fixture(options);

  Settings settings = settings_of(fixture.url() + "/3", 5s);
  settings.sentinel_login.password = "two";
  Calls calls(settings);
  EXPECT_EQ(calls.count("a"), "");
  fixture.server(0).cli({"CONFIG", "SET", "requirepass", "one"});
  EXPECT_NE(fixture.server(0).cli({"INFO", "keyspace"}).find("db3:keys=1"),
            std::string::npos);

  settings.sentinel_login.password = "";
  EXPECT_NE(Calls(settings).count("a").find("NOAUTH"), std::string::npos);
  settings.sentinel_login.password = "wrong";
  EXPECT_NE(Calls(settings).count("a").find("WRONGPASS"), std::string::npos);
  settings.sentinel_login.password = "two";
  settings.login.password = "wrong";
  EXPECT_NE(Calls(settings).count("a").find("WRONGPASS"), std::string::npos);
  settings.login.password = "one";
  settings.url.service = "other";
  EXPECT_NE(Calls(settings).count("a").find("knows no service \"other\""),
            std::string::npos);
}

// The client has only the rights that docs/redis.md names.  They suffice for
// its regular checks too.
TEST(Sentinel, NeedsFewRights) {
  ASSERT_NE(text_of_page().find("| `+role` |"), std::string::npos);
  SentinelFixtureOptions options;
  options.config = {user_line(kServerRights, {"+role"})};
  options.sentinel_config = {user_line(kSentinelRights)};
  SentinelFixture fixture(options);
  Settings settings = settings_of(fixture.url(), 5s);
  settings.login.user = settings.sentinel_login.user = "limitree";
  settings.login.password = settings.sentinel_login.password = "password";
  Calls calls(settings);
  const std::string key = "limitree:{a}";
  const auto end = std::chrono::steady_clock::now() + 3s;
  while (std::chrono::steady_clock::now() < end) {
    KeyTask task(
        key, {"EVAL", "return redis.call('HSET', KEYS[1], 'a', 1)", "1", key});
    calls.run(&task);
    ASSERT_EQ(task.outcome.failure, Failure::kNone) << task.outcome.detail;
    std::this_thread::sleep_for(10ms);
  }
  for (int i = 0; i < SentinelFixture::kSentinels; ++i) {
    const std::string clients = fixture.sentinel(i).cli({"CLIENT", "LIST"});
    EXPECT_NE(clients.find("user=limitree"), std::string::npos) << clients;
    EXPECT_EQ(fixture.sentinel(i).cli({"ACL", "LOG"}), "");
  }
  // The server refuses CLIENT SETNAME, which is not granted here.  That does no
  // harm, so the log may name it.
  const std::string log = fixture.server(0).cli({"ACL", "LOG"});
  EXPECT_EQ(log.find("role"), std::string::npos) << log;
  EXPECT_EQ(log.find("eval"), std::string::npos) << log;

  fixture.server(0).cli({"ACL", "SETUSER", "limitree", "-role"});
  EXPECT_NE(Calls(settings).count(key).find("NOPERM"), std::string::npos);
}

TEST(Sentinel, FollowsAPrimaryThatIsKilled) {
  SentinelFixture fixture;
  Calls calls(settings_of(fixture.url()));
  Load load(&calls, kKeys);
  ASSERT_TRUE(load.recovers()) << load.last_failure();

  fixture.server(0).kill();
  const int primary = fixture.await_primary(0);
  const auto promoted = std::chrono::steady_clock::now();
  EXPECT_TRUE(load.recovers()) << load.last_failure();
  EXPECT_LT(std::chrono::steady_clock::now() - promoted, 5s);
  // The old primary comes back as a replica: no call should go there.
  fixture.server(0).start();
  EXPECT_TRUE(load.recovers()) << load.last_failure();
  load.stop();
  EXPECT_LT(load.overrun(), kGrace);
  // Nothing was sent twice.
  EXPECT_LE(sum(fixture.server(primary), kKeys),
            load.counted() + load.unknown());
}

TEST(Sentinel, FollowsAPrimaryThatHangs) {
  SentinelFixture fixture;
  Calls calls(settings_of(fixture.url()));
  Load load(&calls, kKeys);
  ASSERT_TRUE(load.recovers()) << load.last_failure();

  fixture.suspend(0);
  const int primary = fixture.await_primary(0);
  const auto promoted = std::chrono::steady_clock::now();
  EXPECT_TRUE(load.recovers()) << load.last_failure();
  EXPECT_LT(std::chrono::steady_clock::now() - promoted, 5s);
  // For a moment, the old primary still believes that it is the primary.
  fixture.resume(0);
  EXPECT_TRUE(load.recovers()) << load.last_failure();
  load.stop();
  EXPECT_LT(load.overrun(), kGrace);
  EXPECT_LE(sum(fixture.server(primary), kKeys),
            load.counted() + load.unknown());
}

// The old primary answers READONLY, so calls need not fail for long.
TEST(Sentinel, FollowsAPrimaryThatSteppedDown) {
  SentinelFixture fixture;
  Calls calls(settings_of(fixture.url()));
  Load load(&calls, kKeys);
  ASSERT_TRUE(load.recovers()) << load.last_failure();

  ASSERT_EQ(fixture.sentinel(0).cli(
                {"SENTINEL", "FAILOVER", SentinelFixture::kService}),
            "OK");
  const int primary = fixture.await_primary(0);
  EXPECT_TRUE(load.recovers()) << load.last_failure();
  await("the demotion of the old primary",
        [&] { return fixture.role(0) == "slave"; });
  EXPECT_TRUE(load.recovers()) << load.last_failure();
  load.stop();
  EXPECT_LT(load.overrun(), kGrace);
  EXPECT_LE(sum(fixture.server(primary), kKeys),
            load.counted() + load.unknown());
}

// The old primary stays a primary, as if it were cut off from the other servers
// but not from this client.  So no call to it ever fails.
TEST(Sentinel, FollowsMostSentinelsAwayFromAPrimaryThatGoesOn) {
  SentinelFixture fixture;
  Calls calls(settings_of(fixture.url(), 5s));
  Load load(&calls, kKeys);
  ASSERT_TRUE(load.recovers()) << load.last_failure();

  const std::string service = SentinelFixture::kService;
  for (int i = 0; i < SentinelFixture::kSentinels; ++i) {
    fixture.sentinel(i).cli({"SENTINEL", "REMOVE", service});
  }
  fixture.server(1).cli({"REPLICAOF", "NO", "ONE"});
  for (int i = 0; i < SentinelFixture::kSentinels; ++i) {
    const int named = i < 2 ? 1 : 0;
    ASSERT_EQ(fixture.sentinel(i).cli(
                  {"SENTINEL", "MONITOR", service, "127.0.0.1",
                   std::to_string(fixture.server(named).port()), "3"}),
              "OK");
  }
  const auto split = std::chrono::steady_clock::now();
  await("calls at the new primary",
        [&] { return sum(fixture.server(1), kKeys) > load.counted() / 1000; });
  await("no more calls at the old primary", [&] {
    const int before = sum(fixture.server(0), kKeys);
    const int counted = load.counted();
    await("calls", [&] { return load.counted() > counted + 100; });
    return sum(fixture.server(0), kKeys) == before;
  });
  EXPECT_LT(std::chrono::steady_clock::now() - split, 8s);
  load.stop();
  EXPECT_EQ(load.refused(), 0) << load.last_failure();
  EXPECT_EQ(load.unknown(), 0) << load.last_failure();
}

void set_patience(SentinelFixture* fixture, const std::string& milliseconds) {
  for (int i = 0; i < SentinelFixture::kSentinels; ++i) {
    fixture->sentinel(i).cli({"SENTINEL", "SET", "mymaster",
                              "down-after-milliseconds", milliseconds});
  }
}

TEST(Sentinel, GoesOnWithoutSentinels) {
  SentinelFixture fixture;
  // If the machine stands still, they must not begin a failover that they do
  // not end.
  set_patience(&fixture, "60000");
  Calls calls(settings_of(fixture.url()));
  Load load(&calls, kKeys);
  ASSERT_TRUE(load.recovers()) << load.last_failure();
  for (int i = 0; i < SentinelFixture::kSentinels; ++i) {
    fixture.sentinel(i).kill();
  }
  const int counted = load.counted();
  await("calls", [&] { return load.counted() > counted + 3000; });
  // Where the machine stands still, some fail while it holds off.
  EXPECT_TRUE(load.recovers()) << load.last_failure();

  // It loses the primary, and finds it where it was.
  const int bad = load.unknown() + load.refused();
  fixture.server(0).kill();
  await("a failure",
        [&] { return load.unknown() + load.refused() > bad + 30; });
  fixture.server(0).start();
  EXPECT_TRUE(load.recovers()) << load.last_failure();

  const std::string failure = Calls(settings_of(fixture.url())).count("a");
  EXPECT_NE(failure.find("none of 3 sentinels answers"), std::string::npos)
      << failure;
  for (int i = 0; i < SentinelFixture::kSentinels; ++i) {
    fixture.sentinel(i).start();
  }
  set_patience(&fixture, "500");
  fixture.server(0).kill();
  fixture.await_primary(0);
  EXPECT_TRUE(load.recovers()) << load.last_failure();
  load.stop();
  EXPECT_LT(load.overrun(), kGrace);
}

// Whichever sentinel is asked first, one that hangs does not use up all of the
// time.
TEST(Sentinel, AsksTheNextSentinelWhenOneHangs) {
  SentinelFixture fixture;
  fixture.sentinel(0).suspend();
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(Calls(settings_of(fixture.url(), 3s)).count("a"), "");
  }
  fixture.sentinel(0).resume();
}

TEST(Sentinel, LearnsOfSentinelsThatTheUrlDoesNotName) {
  SentinelFixture fixture;
  Calls calls(settings_of("redis+sentinel://127.0.0.1:" +
                          std::to_string(fixture.sentinel(0).port()) +
                          "/mymaster"));
  Load load(&calls, kKeys);
  ASSERT_TRUE(load.recovers()) << load.last_failure();
  // This is enough for two checks: the answer to one is read with the next.
  std::this_thread::sleep_for(3 * SentinelRouter::kBetweenChecks);
  fixture.sentinel(0).kill();
  fixture.server(0).kill();
  fixture.await_primary(0);
  EXPECT_TRUE(load.recovers()) << load.last_failure();
}

}  // namespace
}  // namespace limitree::redis::sentinel_failover_test
