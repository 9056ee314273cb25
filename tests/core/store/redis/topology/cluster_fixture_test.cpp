#include "core/store/redis/topology/cluster_fixture.hpp"

#include <gtest/gtest.h>

#include "store/redis/route/slot.hpp"

namespace limitree::redis {
namespace {

TEST(ClusterFixture, MovesSlotsAndReplacesNodes) {
  ClusterFixture fixture;
  EXPECT_EQ(fixture.owner(0), 0);
  EXPECT_EQ(fixture.owner(5461), 1);
  EXPECT_EQ(fixture.owner(16383), 2);
  for (const char* key : {"a", "{user:alex}", "x{}y", "{}{a}", "}{x}"}) {
    EXPECT_EQ(fixture.node(0).cli({"CLUSTER", "KEYSLOT", key}),
              std::to_string(slot_of(key)));
  }

  const int slot = slot_of("{user:alex}");  // 8291
  RedisServer& from = fixture.node(1);
  RedisServer& to = fixture.node(2);
  EXPECT_EQ(from.cli({"SET", "a{user:alex}", "1"}), "OK");
  EXPECT_EQ(from.cli({"SET", "b{user:alex}", "2"}), "OK");
  fixture.begin_move(slot, 2);
  EXPECT_EQ(fixture.owner(slot), 1);
  EXPECT_TRUE(fixture.move_key(slot));
  EXPECT_EQ(from.cli({"GET", "c{user:alex}"}).substr(0, 9), "ASK 8291 ");
  EXPECT_EQ(from.cli({"MGET", "a{user:alex}", "b{user:alex}"}).substr(0, 8),
            "TRYAGAIN");
  EXPECT_TRUE(fixture.move_key(slot));
  EXPECT_FALSE(fixture.move_key(slot));
  fixture.end_move(slot);
  EXPECT_EQ(fixture.owner(slot), 2);
  EXPECT_EQ(to.cli({"MGET", "a{user:alex}", "b{user:alex}"}), "1\n2");
  EXPECT_EQ(from.cli({"GET", "a{user:alex}"}).substr(0, 11), "MOVED 8291 ");

  fixture.node(0).kill();
  EXPECT_EQ(fixture.await_owner(0, 0), 3);
  fixture.node(0).start();
  fixture.suspend(1);
  EXPECT_EQ(fixture.await_owner(5461, 1), 4);
  fixture.resume(1);
}

}  // namespace
}  // namespace limitree::redis
