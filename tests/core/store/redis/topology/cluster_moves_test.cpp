// Finding the nodes of a real cluster while slots move and nodes are lost.

#include <gtest/gtest.h>

#include <string>

#include "core/store/redis/await.hpp"
#include "core/store/redis/documented_rights.hpp"
#include "core/store/redis/drive_cases.hpp"
#include "core/store/redis/load.hpp"
#include "core/store/redis/topology/cluster_fixture.hpp"

namespace limitree::redis {
namespace {

Settings settings_of(const std::string& url, Duration timeout = 50ms) {
  Settings settings;
  settings.url = parse_url(url).value();
  settings.timeout = timeout;
  return settings;
}

std::string first_node_of(ClusterFixture& fixture) {
  return "redis+cluster://127.0.0.1:" + std::to_string(fixture.node(0).port());
}

int sum(RedisServer& node, const std::vector<std::string>& keys) {
  int all = 0;
  for (const std::string& key : keys) {
    const std::string value = node.cli({"GET", key});
    if (value != "(nil)") all += std::stoi(value);
  }
  return all;
}

TEST(Cluster, SendsEachKeyToItsNode) {
  ClusterFixture fixture;
  Calls calls(settings_of(first_node_of(fixture), 5s));
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(calls.count("key" + std::to_string(i)), "");
  }
  int keys = 0;
  for (int i = 0; i < ClusterFixture::kPrimaries; ++i) {
    const int here = std::stoi(fixture.node(i).cli({"DBSIZE"}));
    EXPECT_GT(here, 50);
    keys += here;
  }
  EXPECT_EQ(keys, 300);
}

// Callers do not notice the moves.
TEST(Cluster, FollowsSlotsThatMove) {
  ClusterFixture fixture;
  std::vector<std::string> keys;
  for (int i = 0; i < 4; ++i) keys.push_back(std::to_string(i) + "{tag}");
  const int slot = slot_of(keys[0]);
  int owner = fixture.owner(slot);

  Calls calls(settings_of(first_node_of(fixture), 2s));
  Load load(&calls, keys);
  ASSERT_TRUE(load.recovers()) << load.last_failure();
  for (int i = 0; i < 9; ++i) {
    owner = (owner + 1) % ClusterFixture::kPrimaries;
    fixture.begin_move(slot, owner);
    do {
      const int counted = load.counted();
      await("calls", [&] { return load.counted() > counted + 40; });
    } while (fixture.move_key(slot));
    fixture.end_move(slot);
  }
  load.stop();
  EXPECT_EQ(load.unknown(), 0) << load.last_failure();
  EXPECT_EQ(load.refused(), 0) << load.last_failure();
  EXPECT_EQ(sum(fixture.node(owner), keys), load.counted());
}

// The client has only the rights that docs/redis.md names.
TEST(Cluster, NeedsFewRights) {
  const std::vector<std::string> more = {"+cluster|slots", "+asking"};
  ASSERT_NE(text_of_page().find("| `+cluster\\|slots +asking` |"),
            std::string::npos);
  ClusterFixture fixture({user_line(kServerRights, more)});
  Settings settings = settings_of(first_node_of(fixture), 5s);
  settings.login.user = "limitree";
  settings.login.password = "password";
  const std::string key = "limitree:{tag}";
  const auto failure = [&] {
    KeyTask task(
        key, {"EVAL", "return redis.call('HSET', KEYS[1], 'a', 1)", "1", key});
    Calls(settings).run(&task);
    return task.outcome.failure == Failure::kNone ? "" : task.outcome.detail;
  };
  EXPECT_EQ(failure(), "");
  const int slot = slot_of(key);
  const int to = (fixture.owner(slot) + 1) % ClusterFixture::kPrimaries;
  fixture.begin_move(slot, to);
  ASSERT_TRUE(fixture.move_key(slot));
  EXPECT_EQ(failure(), "");  // ASK
  fixture.node(to).cli({"ACL", "SETUSER", "limitree", "-asking"});
  const std::string text = failure();
  EXPECT_NE(text.find("NOPERM"), std::string::npos) << text;
  fixture.end_move(slot);
  fixture.node(0).cli({"ACL", "SETUSER", "limitree", "-cluster|slots"});
  EXPECT_NE(failure().find("NOPERM"), std::string::npos);
}

// A command for two keys of a slot gets TRYAGAIN until both are on one node.
TEST(Cluster, WaitsForKeysThatMove) {
  ClusterFixture fixture;
  const int slot = slot_of("{tag}");
  const int from = fixture.owner(slot);
  const int to = (from + 1) % ClusterFixture::kPrimaries;
  Calls calls(settings_of(first_node_of(fixture), 20s));
  ASSERT_EQ(calls.count("a{tag}"), "");
  ASSERT_EQ(calls.count("b{tag}"), "");
  fixture.begin_move(slot, to);
  ASSERT_TRUE(fixture.move_key(slot));

  KeyTask task("{tag}", {"MGET", "a{tag}", "b{tag}"});
  std::thread call([&] { calls.run(&task); });
  // By then, a node has refused the command at least once.
  await("a TRYAGAIN from either node", [&] {
    return fixture.node(to).cli({"INFO", "errorstats"}).find("TRYAGAIN") !=
               std::string::npos ||
           fixture.node(from).cli({"INFO", "errorstats"}).find("TRYAGAIN") !=
               std::string::npos;
  });
  while (fixture.move_key(slot)) {
  }
  fixture.end_move(slot);
  call.join();
  ASSERT_EQ(task.outcome.failure, Failure::kNone) << task.outcome.detail;
  EXPECT_EQ(redis_reply(task.outcome).elements, 2U);
  EXPECT_GT(task.attempts, 1);
}

// The URL names only the node that dies.  By then the client knows the others.
void lose_a_node(bool kill) {
  ClusterFixture fixture;
  const std::string key = "{user:alex}";  // of node 1
  const std::string lost_key = "b";       // of node 0
  ASSERT_EQ(fixture.owner(slot_of(key)), 1);
  ASSERT_EQ(fixture.owner(slot_of(lost_key)), 0);
  Calls calls(settings_of(first_node_of(fixture)));
  Load load(&calls, {lost_key, key, lost_key, key});
  ASSERT_TRUE(load.recovers()) << load.last_failure();

  kill ? fixture.node(0).kill() : fixture.suspend(0);
  EXPECT_EQ(fixture.await_owner(slot_of(lost_key), 0), 3);
  const auto promoted = std::chrono::steady_clock::now();
  EXPECT_TRUE(load.recovers()) << load.last_failure();
  EXPECT_LT(std::chrono::steady_clock::now() - promoted, 5s);
  // The old primary comes back as a replica.
  kill ? fixture.node(0).start() : fixture.resume(0);
  EXPECT_TRUE(load.recovers()) << load.last_failure();
  load.stop();
  EXPECT_LT(load.overrun(), kGrace);
  EXPECT_LE(sum(fixture.node(3), {lost_key}) + sum(fixture.node(1), {key}),
            load.counted() + load.unknown());
}

TEST(Cluster, FollowsANodeThatIsKilled) { lose_a_node(true); }

TEST(Cluster, FollowsANodeThatHangs) { lose_a_node(false); }

TEST(Cluster, SaysWhoIsNone) {
  const RedisServer server;
  Calls calls(settings_of(
      "redis+cluster://127.0.0.1:" + std::to_string(server.port()), 5s));
  EXPECT_NE(calls.count("a").find("cluster support disabled"),
            std::string::npos);
}

}  // namespace
}  // namespace limitree::redis
