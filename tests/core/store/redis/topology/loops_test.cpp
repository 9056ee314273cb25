// Several event loops over one store, while servers come and go.

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <string>

#include "core/store/redis/await.hpp"
#include "core/store/redis/drive_cases.hpp"
#include "core/store/redis/load.hpp"
#include "core/store/redis/topology/cluster_fixture.hpp"
#include "core/store/redis/topology/sentinel_fixture.hpp"
#include "store/redis/common/remote.hpp"
#include "store/remote/drivers/loop.hpp"

namespace limitree::redis::loops_test {
namespace {

// A task of somebody else.
class Lent final : public AsyncTask {
 public:
  explicit Lent(Task* task) : task_(task) {}
  Task* task() override { return task_; }

 private:
  Task* const task_;
};

// Each thread that makes calls has an event loop.  The loops share the router.
class LoopCalls final : public Calls {
 public:
  using Calls::Calls;

  void run(Task* task) override {
    static thread_local int finished = 0;
    static thread_local Loop loop(
        router(), settings(), [](std::span<std::unique_ptr<AsyncTask>> tasks) {
          finished += static_cast<int>(tasks.size());
        });
    finished = 0;
    loop.start(std::make_unique<Lent>(task), settings().timeout);
    while (finished == 0) {
      pollfd watched{loop.fd(), POLLIN, 0};
      poll(&watched, 1, 10'000);
      loop.run();
    }
  }
};

Settings settings_of(const std::string& url, Duration timeout) {
  Settings settings;
  settings.url = parse_url(url).value();
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

TEST(Loops, FollowSlotsThatMove) {
  ClusterFixture fixture;
  std::vector<std::string> keys;
  for (int i = 0; i < 4; ++i) keys.push_back(std::to_string(i) + "{tag}");
  const int slot = slot_of(keys[0]);
  int owner = fixture.owner(slot);
  LoopCalls calls(settings_of(fixture.url(), 2s));
  Load load(&calls, keys);
  ASSERT_TRUE(load.recovers()) << load.last_failure();
  for (int i = 0; i < 5; ++i) {
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

// As the node says that has it now: one that stood still may have lost it.
int count_of(ClusterFixture* fixture, const std::string& key) {
  std::string value;
  await("the node of " + key, [&] {
    const int owner = fixture->owner(slot_of(key));
    if (owner >= 0) value = fixture->node(owner).cli({"GET", key});
    if (value == "(nil)") value = "0";
    return !value.empty() &&
           value.find_first_not_of("0123456789") == std::string::npos;
  });
  return std::stoi(value);
}

TEST(Loops, FollowANodeThatIsKilled) {
  ClusterFixture fixture;
  const std::string key = "{user:alex}";  // of node 1
  const std::string lost_key = "b";       // of node 0
  ASSERT_EQ(fixture.owner(slot_of(key)), 1);
  ASSERT_EQ(fixture.owner(slot_of(lost_key)), 0);
  LoopCalls calls(settings_of(fixture.url(), 50ms));
  Load load(&calls, {lost_key, key, lost_key, key});
  ASSERT_TRUE(load.recovers()) << load.last_failure();
  fixture.node(0).kill();
  EXPECT_EQ(fixture.await_owner(slot_of(lost_key), 0), 3);
  EXPECT_TRUE(load.recovers()) << load.last_failure();
  load.stop();
  EXPECT_LE(count_of(&fixture, lost_key) + count_of(&fixture, key),
            load.counted() + load.unknown());
}

TEST(Loops, FollowAPrimaryThatIsKilled) {
  const std::vector<std::string> keys = {"a", "b", "c", "d"};
  SentinelFixture fixture;
  LoopCalls calls(settings_of(fixture.url(), 50ms));
  Load load(&calls, keys);
  ASSERT_TRUE(load.recovers()) << load.last_failure();
  fixture.server(0).kill();
  const int primary = fixture.await_primary(0);
  EXPECT_TRUE(load.recovers()) << load.last_failure();
  fixture.server(0).start();
  EXPECT_TRUE(load.recovers()) << load.last_failure();
  load.stop();
  EXPECT_LE(sum(fixture.server(primary), keys),
            load.counted() + load.unknown());
}

}  // namespace
}  // namespace limitree::redis::loops_test
