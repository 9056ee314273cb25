#include "core/store/redis/redis_server.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace limitree::redis {
namespace {

TEST(RedisServer, AnswersAndLeavesNothingBehind) {
  std::string folder;
  {
    const RedisServer server;
    folder = server.folder();
    EXPECT_EQ(server.cli({"SET", "a", "b c"}), "OK");
    EXPECT_EQ(server.cli({"GET", "a"}), "b c");
    EXPECT_EQ(server.cli({"GET", "none"}), "(nil)");
    EXPECT_EQ(server.cli({"DEL", "a"}), "1");
    EXPECT_EQ(server.cli({"CONFIG", "GET", "port"}),
              "port\n" + std::to_string(server.port()));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(RedisServer, ReturnsToItsPort) {
  RedisServer server;
  const int port = server.port();
  for (int i = 0; i < 3; ++i) {
    i == 0 ? server.stop() : server.kill();
    EXPECT_THROW(server.cli({"PING"}), std::runtime_error);
    server.start();
    EXPECT_EQ(server.cli({"PING"}), "PONG");
    EXPECT_EQ(server.port(), port);
  }
}

TEST(RedisServer, StandsStillAndGoesOn) {
  RedisServer server;
  server.suspend();
  server.resume();
  EXPECT_EQ(server.cli({"PING"}), "PONG");
}

TEST(RedisServer, AnswersItsOwnUserWhateverTheRights) {
  const RedisServer server({.config = {"requirepass secret",
                                       "user alex on >word ~limitree:* +get"}});
  EXPECT_EQ(server.cli({"PING"}), "PONG");
  EXPECT_EQ(server.cli({"ACL", "WHOAMI"}), "fixture");
}

TEST(RedisServer, ListensWithTls) {
  const RedisServer server({.tls = true, .certificate = "expired"});
  EXPECT_EQ(server.cli({"CONFIG", "GET", "tls-port"}),
            "tls-port\n" + std::to_string(server.tls_port()));
  for (const char* name :
       {"ca", "other_ca", "server", "expired", "elsewhere", "client"}) {
    EXPECT_TRUE(std::filesystem::exists(server.file(name) + ".crt")) << name;
  }
}

TEST(RedisServer, FollowsAnother) {
  const RedisServer primary;
  const RedisServer replica(
      {.config = {"replicaof 127.0.0.1 " + std::to_string(primary.port())}});
  EXPECT_EQ(primary.cli({"SET", "a", "b"}), "OK");
  EXPECT_EQ(replica.cli({"ROLE"}).substr(0, 5), "slave");
}

TEST(RedisServer, WatchesAsASentinel) {
  const RedisServer primary;
  RedisServer sentinel({.config = {"sentinel monitor main 127.0.0.1 " +
                                   std::to_string(primary.port()) + " 1"},
                        .sentinel = true});
  const std::string address = "127.0.0.1\n" + std::to_string(primary.port());
  EXPECT_EQ(sentinel.cli({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"}),
            address);
  sentinel.restart();
  EXPECT_EQ(sentinel.cli({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"}),
            address);
}

TEST(RedisServer, IsANodeOfACluster) {
  const RedisServer server({.config = {"cluster-enabled yes"}});
  EXPECT_EQ(server.cli({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}), "OK");
}

TEST(RedisServer, ReportsALineItDoesNotKnow) {
  try {
    const RedisServer server({.config = {"no-such-thing 1"}});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(">>> 'no-such-thing 1'"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace limitree::redis
