// The rights that docs/redis.md names suffice, and each of them is needed.

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/store/manual_clock.hpp"
#include "core/store/redis/documented_rights.hpp"
#include "core/store/redis/script_store.hpp"
#include "core/store/store_cases.hpp"

namespace limitree::rights_test {
namespace {

using redis::RedisServer;
using redis::RedisServerOptions;
using redis::ScriptStore;

RedisServerOptions with_user(const std::vector<std::string>& more) {
  RedisServerOptions options;
  options.config = {redis::user_line(redis::kServerRights, more)};
  return options;
}

class LimitedUser {
 public:
  LimitedUser() {
    const redis::Reply reply =
        store_.send_words({"AUTH", "limitree", "password"});
    EXPECT_STREQ(reply->str, "OK");
  }
  Store* store() { return &store_; }
  void advance(Duration by) { clock_.advance(by); }

 private:
  ManualClock clock_;
  // Only ScriptStore::stats() needs these two.
  const RedisServer server_{with_user({"+keys", "+hkeys"})};
  ScriptStore store_{server_, [this]() -> redis::Now { return clock_.now(); }};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Rights, StoreCases, LimitedUser);

// The names of all commands that the server has executed, also by scripts.
std::set<std::string> commands_of(const RedisServer& server) {
  const std::string prefix = "cmdstat_";
  std::set<std::string> names;
  std::istringstream lines(server.cli({"INFO", "commandstats"}));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(prefix)) continue;
    line.erase(0, prefix.size());
    names.insert(line.substr(0, line.find(':')));
  }
  for (const char* ours : {"auth", "config|resetstat", "info"}) {
    names.erase(ours);
  }
  return names;
}

TEST(Rights, AreAllNeeded) {
  std::set<std::string> granted;
  for (const std::string& right :
       redis::documented_rights(redis::kServerRights)) {
    if (right.starts_with('+')) granted.insert(right.substr(1));
  }

  const RedisServer server(with_user({}));
  ManualClock clock;
  bool servers_clock = false;
  ScriptStore store(server, [&]() -> redis::Now {
    if (servers_clock) return std::nullopt;
    return clock.now();
  });
  server.cli({"CONFIG", "RESETSTAT"});
  store.send_words({"AUTH", "limitree", "password"});
  store.send_words({"PING"});

  const Limit limit = simple_limit(std::chrono::seconds(10), 1000);
  const auto request = [&](Operation operation, const char* name, int cost) {
    Request(operation, {"user", name}).level(limit, 2, cost).decide(&store);
  };
  request(Operation::kAuthorize, "alex", 5);
  request(Operation::kRefund, "alex", 5);  // no bucket is left: DEL
  // The levels below one caller share a key, and old buckets in it are pruned.
  const auto below = [&](const char* name, int cost) {
    Plan plan(Operation::kAuthorize);
    plan.segments.emplace_back("user", Segment::Kind::kExact);
    plan.segments.emplace_back("alex", Segment::Kind::kCaller);
    plan.segments.emplace_back(name, Segment::Kind::kExact);
    plan.add_level(&limit, 0u, 3, cost);
    EXPECT_TRUE(store.decide(&plan).ok());
  };
  below("a", 1);
  below("b", 1);
  clock.advance(std::chrono::hours(1));
  below("c", 500);
  request(Operation::kAuthorize, "sam", 1);
  Request reset(Operation::kPeek, {"user", "sam"});
  reset.level(limit, 2);
  EXPECT_TRUE(store.reset(reset.plan()).ok());
  servers_clock = true;
  request(Operation::kAuthorize, "kim", 1);

  EXPECT_EQ(commands_of(server), granted);
  EXPECT_EQ(server.cli({"ACL", "LOG"}), "") << "something was refused";
}

}  // namespace
}  // namespace limitree::rights_test
