#include "store/redis/route/topology_reply.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/store/redis/by_hand.hpp"
#include "core/store/redis/resp_text.hpp"
#include "store/redis/wire/resp.hpp"

namespace limitree::redis {
namespace {

// ---- sentinels and nodes ----------------------------------------------------

const Endpoint kAsked{.host = "10.0.0.9", .port = 7000, .socket = ""};

std::string primary(const std::string& resp) {
  const std::optional<Endpoint> endpoint = read_primary(*reply_of(resp));
  return endpoint ? endpoint->text() : "none";
}

std::string sentinels(const std::string& resp) {
  const auto endpoints = read_sentinels(*reply_of(resp));
  if (!endpoints) return "none";
  std::string all;
  for (const Endpoint& endpoint : *endpoints) all += endpoint.text() + " ";
  return all;
}

std::string slots(const std::string& resp) {
  const auto ranges = read_slots(*reply_of(resp), kAsked);
  if (!ranges) return "none";
  std::string all;
  for (const SlotRange& range : *ranges) {
    all += std::to_string(range.first) + "-" + std::to_string(range.last) + ":";
    for (const Endpoint& node : range.nodes) all += " " + node.text();
    all += ";";
  }
  return all;
}

std::string node(const std::string& host, int port) {
  return "*3\r\n" + host + ":" + std::to_string(port) + "\r\n" + bulk("id");
}

TEST(IsHost, TakesNamesAndAddresses) {
  for (const char* host : {"a", "redis-1.example.com", "10.0.0.1", "::1",
                           "fe80::1%eth0", "my_host"}) {
    EXPECT_TRUE(is_host(host)) << host;
  }
  for (const std::string& host :
       {std::string(), std::string("a b"), std::string("a\n"),
        std::string("a\0b", 3), std::string("a/b"), std::string("[::1]"),
        std::string("\xc3\xa9"), std::string(254, 'a')}) {
    EXPECT_FALSE(is_host(host)) << host;
  }
}

TEST(ReadPrimary, ReadsHostAndPort) {
  EXPECT_EQ(primary("*2\r\n" + bulk("10.0.0.1") + bulk("6379")),
            "10.0.0.1:6379");
  EXPECT_EQ(primary("*2\r\n" + bulk("::1") + bulk("1")), "[::1]:1");
}

TEST(ReadPrimary, RefusesWhatIsNone) {
  for (const std::string& resp :
       {std::string("*-1\r\n"), std::string("$-1\r\n"), std::string("*0\r\n"),
        std::string("+OK\r\n"), "*1\r\n" + bulk("h"),
        "*3\r\n" + bulk("h") + bulk("1") + bulk("1"),
        "*2\r\n" + bulk("") + bulk("1"), "*2\r\n" + bulk("h") + bulk("0"),
        "*2\r\n" + bulk("h") + bulk("65536"), "*2\r\n" + bulk("h") + bulk("1x"),
        "*2\r\n" + bulk("h") + bulk("99999999999999999999"),
        "*2\r\n" + bulk("h\r\n") + bulk("1"), "*2\r\n" + bulk("h") + ":1\r\n",
        "*2\r\n:1\r\n" + bulk("1"), std::string("*2\r\n$-1\r\n$-1\r\n")}) {
    EXPECT_EQ(primary(resp), "none") << resp;
  }
}

std::string sentinel(const std::string& host, const std::string& port,
                     const std::string& flags) {
  return "*8\r\n" + bulk("name") + bulk("0abc") + bulk("ip") + bulk(host) +
         bulk("port") + bulk(port) + bulk("flags") + bulk(flags);
}

TEST(ReadSentinels, ReadsThoseThatAreUp) {
  EXPECT_EQ(sentinels("*0\r\n"), "");
  EXPECT_EQ(sentinels("*3\r\n" + sentinel("10.0.0.1", "26379", "sentinel") +
                      sentinel("10.0.0.2", "26379", "s_down,sentinel") +
                      sentinel("::1", "5000", "sentinel,disconnected")),
            "10.0.0.1:26379 [::1]:5000 ");
}

TEST(ReadSentinels, RefusesWhatIsNone) {
  for (const std::string& resp :
       {std::string("*-1\r\n"), std::string("+OK\r\n"),
        std::string("*1\r\n*0\r\n"), std::string("*1\r\n:1\r\n"),
        "*1\r\n*1\r\n" + bulk("ip"), "*1\r\n*2\r\n" + bulk("ip") + bulk("h"),
        "*1\r\n" + sentinel("h", "0", ""), "*1\r\n" + sentinel("", "1", ""),
        "*2\r\n" + sentinel("h", "1", "") + "*0\r\n",
        "*2\r\n" + bulk("h") + bulk("1")}) {
    EXPECT_EQ(sentinels(resp), "none") << resp;
  }
}

TEST(ReadRole, TellsPrimariesFromReplicas) {
  const Reply primary =
      reply_of("*3\r\n" + bulk("master") + ":3129659\r\n*0\r\n");
  EXPECT_TRUE(is_primary(*primary));
  EXPECT_FALSE(is_replica(*primary));
  const Reply replica = reply_of("*5\r\n" + bulk("slave") + bulk("h") +
                                 ":1\r\n" + bulk("connected") + ":2\r\n");
  EXPECT_FALSE(is_primary(*replica));
  EXPECT_TRUE(is_replica(*replica));
  for (const std::string& resp :
       {"*2\r\n" + bulk("sentinel") + "*0\r\n", std::string("*0\r\n"),
        bulk("master"), bulk("slave"), std::string("*1\r\n:1\r\n"),
        std::string("*1\r\n$-1\r\n")}) {
    EXPECT_FALSE(is_primary(*reply_of(resp))) << resp;
    EXPECT_FALSE(is_replica(*reply_of(resp))) << resp;
  }
}

TEST(ReadSlots, ReadsRangesAndTheirNodes) {
  EXPECT_EQ(slots("*0\r\n"), "");
  EXPECT_EQ(slots("*2\r\n*4\r\n:0\r\n:5460\r\n" + node(bulk("10.0.0.1"), 1) +
                  node(bulk("10.0.0.2"), 2) + "*3\r\n:5461\r\n:16383\r\n" +
                  node(bulk("::1"), 3)),
            "0-5460: 10.0.0.1:1 10.0.0.2:2;5461-16383: [::1]:3;");
  // Redis 7 adds metadata to each node.
  EXPECT_EQ(
      slots("*1\r\n*3\r\n:7\r\n:7\r\n*4\r\n" + bulk("10.0.0.1") + ":1\r\n" +
            bulk("id") + "*2\r\n" + bulk("hostname") + bulk("redis-1")),
      "7-7: 10.0.0.1:1;");
}

TEST(ReadSlots, PutsTheAskedHostWhereNoneIsTold) {
  for (const char* host : {"$-1\r\n", "$0\r\n\r\n", "$1\r\n?\r\n"}) {
    EXPECT_EQ(slots("*1\r\n*3\r\n:0\r\n:1\r\n" + node(host, 7001)),
              "0-1: 10.0.0.9:7001;");
  }
}

TEST(ReadSlots, LeavesOutReplicasWithoutAnAddress) {
  EXPECT_EQ(slots("*1\r\n*5\r\n:0\r\n:1\r\n" + node(bulk("a"), 1) +
                  node(bulk("b c"), 2) + node(bulk("c"), 0)),
            "0-1: a:1;");
}

TEST(ReadSlots, RefusesWhatIsNone) {
  for (const std::string& range :
       {std::string("*0\r\n"), std::string(":1\r\n"),
        std::string("*2\r\n:0\r\n:1\r\n"),
        "*3\r\n:-1\r\n:1\r\n" + node(bulk("h"), 1),
        "*3\r\n:2\r\n:1\r\n" + node(bulk("h"), 1),
        "*3\r\n:0\r\n:16384\r\n" + node(bulk("h"), 1),
        "*3\r\n" + bulk("0") + ":1\r\n" + node(bulk("h"), 1),
        "*3\r\n:0\r\n:1\r\n" + node(bulk("h h"), 1),
        "*3\r\n:0\r\n:1\r\n" + node(bulk("h"), 0),
        "*3\r\n:0\r\n:1\r\n" + node(bulk("h"), 65536),
        std::string("*3\r\n:0\r\n:1\r\n*1\r\n$1\r\nh\r\n"),
        std::string("*3\r\n:0\r\n:1\r\n*2\r\n:1\r\n:1\r\n"),
        std::string("*3\r\n:0\r\n:1\r\n$1\r\nh\r\n")}) {
    EXPECT_EQ(slots("*1\r\n" + range), "none") << range;
    EXPECT_EQ(slots("*2\r\n*3\r\n:0\r\n:1\r\n" + node(bulk("h"), 1) + range),
              "none")
        << range;
  }
  EXPECT_EQ(slots("*-1\r\n"), "none");
  EXPECT_EQ(slots("+OK\r\n"), "none");
}

// ---- redirections -----------------------------------------------------------

std::string read(const std::string& resp) {
  const std::optional<Redirect> redirect = parse_redirect(*reply_of(resp));
  if (!redirect) return "none";
  return std::to_string(redirect->slot) + " " + redirect->endpoint.text();
}

TEST(ParseRedirect, ReadsSlotAndEndpoint) {
  EXPECT_EQ(read("-MOVED 3999 127.0.0.1:6381\r\n"), "3999 127.0.0.1:6381");
  EXPECT_EQ(read("-ASK 0 redis-2.example.com:1\r\n"),
            "0 redis-2.example.com:1");
  EXPECT_EQ(read("-MOVED 16383 2001:db8::1:65535\r\n"),
            "16383 [2001:db8::1]:65535");
  // No host, or "?", means that the cluster does not know the host.
  EXPECT_EQ(read("-MOVED 5 :6379\r\n"), "5 :6379");
  EXPECT_EQ(read("-ASK 5 ?:6379\r\n"), "5 :6379");
}

TEST(ParseRedirect, RefusesWhatIsNone) {
  for (const char* resp : {"+MOVED 3999 h:6381\r\n",
                           ":3999\r\n",
                           "-MOVED\r\n",
                           "-MOVED \r\n",
                           "-MOVED 3999\r\n",
                           "-MOVED 3999 \r\n",
                           "-MOVED 3999 h\r\n",
                           "-MOVED 3999 h:\r\n",
                           "-MOVED 3999 h:0\r\n",
                           "-MOVED 3999 h:65536\r\n",
                           "-MOVED 3999 h:1 x\r\n",
                           "-MOVED 3999 a b:1\r\n",
                           "-MOVED -1 h:1\r\n",
                           "-MOVED 16384 h:1\r\n",
                           "-MOVED x h:1\r\n",
                           "-MOVED a:1 1\r\n",
                           "-MOVED 99999999999 h:1\r\n",
                           "-moved 1 h:1\r\n",
                           "-ERR MOVED 1 h:1\r\n",
                           "-ASKING 1 h:1\r\n",
                           "$-1\r\n",
                           "*0\r\n"}) {
    EXPECT_EQ(read(resp), "none") << resp;
  }
}

}  // namespace
}  // namespace limitree::redis
