// What a caller sees when a server fails: an answer or a named failure within
// its deadline, and service again as soon as the server recovers.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "core/store/redis/faults_fixture.hpp"

namespace limitree::redis::faults_test {
namespace {

TEST_F(FaultsTest, DownAtStart) {
  RedisServer server;
  server.stop();
  RedisStore store(settings_for(server), std::nullopt);
  EXPECT_EQ(ask(&store), "refused");
  for (int i = 0; i < 50; ++i) {
    const std::string reason = ask(&store);
    EXPECT_TRUE(reason == "refused" || reason == "backoff") << reason;
  }
  server.start();
  EXPECT_TRUE(recovers(&store));
}

TEST_F(FaultsTest, KilledAndStartedAgainInTraffic) {
  RedisServer server;
  RedisStore store(settings_for(server), std::nullopt);
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      while (!stop) ask(&store, "thread" + std::to_string(t));
    });
  }
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(recovers(&store));
    server.kill();
    EXPECT_NE(ask(&store), "ok");
    server.start();
  }
  EXPECT_TRUE(recovers(&store));
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

// The first calls wait until their deadline.  Later calls mostly fail at once,
// and service returns without any help.
TEST_F(FaultsTest, SuspendedServer) {
  RedisServer server;
  RedisStore store(settings_for(server), std::nullopt);
  ASSERT_TRUE(recovers(&store));
  server.suspend();
  EXPECT_EQ(ask(&store), "timeout");
  const auto end = Steady::now() + milliseconds(2000);
  int calls = 0;
  while (Steady::now() < end) {
    EXPECT_NE(ask(&store), "ok");
    ++calls;
  }
  EXPECT_GT(calls, 200) << "too many callers still wait";
  server.resume();
  EXPECT_TRUE(recovers(&store));
}

TEST_F(FaultsTest, ScriptsFlushedAllTheTime) {
  RedisServer server;
  RedisStore store(settings_for(server, kPatient), std::nullopt);
  for (int i = 0; i < 200; ++i) {
    if (i % 10 == 0) server.cli({"SCRIPT", "FLUSH"});
    ASSERT_EQ(ask(&store), "ok");
  }
}

TEST_F(FaultsTest, BecomesAReplica) {
  RedisServer other;
  RedisServer server;
  RedisStore store(settings_for(server), std::nullopt);
  ASSERT_TRUE(recovers(&store));
  server.cli({"REPLICAOF", "127.0.0.1", std::to_string(other.port())});
  EXPECT_NE(ask(&store), "ok");
  server.cli({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(recovers(&store));
}

TEST_F(FaultsTest, OutOfMemory) {
  RedisServer server({.config = {"maxmemory-policy noeviction"}});
  RedisStore store(settings_for(server, kPatient), std::nullopt);
  ASSERT_TRUE(recovers(&store));
  server.cli({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(ask(&store, "new"), "oom");
  server.cli({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(recovers(&store));
}

TEST_F(FaultsTest, BusyWithAScript) {
  RedisServer server({.config = {"busy-reply-threshold 1"}});
  RedisStore store(settings_for(server), std::nullopt);
  ASSERT_TRUE(recovers(&store));
  std::thread script([&] {
    server.cli({"EVAL",
                "local t = redis.call('TIME')[1] + 1 "
                "while redis.call('TIME')[1] + 0 <= t do end",
                "0"});
  });
  std::set<std::string> reasons;
  const auto end = Steady::now() + milliseconds(800);
  while (Steady::now() < end) reasons.insert(ask(&store));
  script.join();
  EXPECT_TRUE(reasons.count("busy") || reasons.count("timeout"));
  EXPECT_TRUE(recovers(&store));
}

TEST_F(FaultsTest, WrongPassword) {
  RedisServer server({.config = {"requirepass right"}});
  Settings settings = settings_for(server, kPatient);
  settings.login.password = "wrong-and-secret";
  RedisStore store(settings, std::nullopt);
  EXPECT_EQ(ask(&store), "wrongpass");
  Plan plan(Operation::kAuthorize);
  plan.segments.emplace_back("a", Segment::Kind::kCaller);
  plan.add_level(&limit_, 0u, 1u, 1);
  RedisStore another(settings, std::nullopt);
  const Status status = another.decide(&plan);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().messages[0].find("secret"), std::string::npos);
}

TEST_F(FaultsTest, NoPassword) {
  RedisServer server({.config = {"requirepass right"}});
  RedisStore store(settings_for(server, kPatient), std::nullopt);
  EXPECT_EQ(ask(&store), "noauth");
}

TEST_F(FaultsTest, NoRightToRunScripts) {
  RedisServer server(
      {.config = {"user default on nopass ~* +@all -evalsha -eval"}});
  RedisStore store(settings_for(server, kPatient), std::nullopt);
  EXPECT_EQ(ask(&store), "noperm");
}

TEST_F(FaultsTest, NoRightToTheKeys) {
  RedisServer server({.config = {"user default on nopass ~other:* +@all"}});
  RedisStore store(settings_for(server, kPatient), std::nullopt);
  EXPECT_EQ(ask(&store), "noperm");
}

TEST_F(FaultsTest, SomebodyElsesKey) {
  RedisServer server;
  const Settings settings = settings_for(server, kPatient);
  RedisStore store(settings, std::nullopt);
  server.cli({"SET", settings.prefix + "{alex}", "mine"});
  EXPECT_EQ(ask(&store), "wrongtype");
  EXPECT_EQ(server.cli({"GET", settings.prefix + "{alex}"}), "mine");
  EXPECT_EQ(ask(&store, "carol"), "ok");
}

TEST_F(FaultsTest, TooManyClients) {
  RedisServer server({.config = {"maxclients 20"}});
  std::vector<std::unique_ptr<RedisStore>> stores;
  std::set<std::string> reasons;
  for (int i = 0; i < 30; ++i) {
    stores.push_back(
        std::make_unique<RedisStore>(settings_for(server), std::nullopt));
    reasons.insert(ask(stores.back().get()));
  }
  EXPECT_TRUE(reasons.count("maxclients"))
      << "a race may turn maxclients into lost";
  EXPECT_TRUE(reasons.count("ok"));
  stores.resize(5);
  EXPECT_TRUE(recovers(stores.back().get()));
}

// The queue of the listening socket is full, so packets to it get no answer.
TEST_F(FaultsTest, AddressThatNeverAnswers) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listening, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listening, 0), 0);
  getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size);
  std::vector<int> queue;
  for (int i = 0; i < 4; ++i) {
    queue.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    connect(queue.back(), reinterpret_cast<sockaddr*>(&address), size);
  }
  Settings settings = store_settings("redis://127.0.0.1:" +
                                     std::to_string(ntohs(address.sin_port)));
  settings.timeout = kTimeout;
  RedisStore store(settings, std::nullopt);
  for (int i = 0; i < 10; ++i) EXPECT_NE(ask(&store), "ok");
  for (const int fd : queue) close(fd);
  close(listening);
}

}  // namespace
}  // namespace limitree::redis::faults_test
