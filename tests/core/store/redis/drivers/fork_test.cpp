// fork() while several threads have blocking requests in flight: the child
// makes its own connections, and the parent loses no answer.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/store/redis/drive_cases.hpp"
#include "core/store/redis/redis_server.hpp"
#include "store/redis/common/remote.hpp"
#include "store/remote/drivers/blocking_driver.hpp"

namespace limitree::redis::fork_test {
namespace {

struct Driver {
  explicit Driver(int port)
      : router(settings, &traffic, local(port)), driver(&router, settings) {}

  bool answers(const std::string& text) {
    EchoTask task(text);
    driver.run(&task, settings.timeout);
    return task.right();
  }

  // Calls the fork hooks in the same order as the store.
  pid_t fork_all() {
    router.before_fork();
    driver.before_fork();
    const pid_t child = fork();
    child == 0 ? driver.after_fork_in_child() : driver.after_fork_in_parent();
    router.after_fork();
    return child;
  }

  const Settings settings = settings_for();
  Traffic traffic;
  FakeRouter router;
  BlockingDriver driver;
};

TEST(Fork, WithRequestsInFlightBothSidesGoOn) {
  const RedisServer server;
  Driver driver(server.port());
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> right = 0;
  std::thread callers([&] {
    on_threads(4, [&](int thread) {
      for (int i = 0; !stop; ++i) {
        const bool ok = driver.answers("parent" + std::to_string(thread) + ":" +
                                       std::to_string(i));
        (ok ? right : wrong) += 1;
      }
    });
  });
  for (int round = 0; round < 10; ++round) {
    const int before = right;
    EXPECT_TRUE(soon([&] { return right > before + 20; }));
    const pid_t child = driver.fork_all();
    if (child == 0) {
      int bad = 0;
      for (int i = 0; i < 50; ++i) {
        bad += driver.answers("child" + std::to_string(i)) ? 0 : 1;
      }
      _exit(bad == 0 ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const int before = right;
  EXPECT_TRUE(soon([&] { return right > before + 20; }));
  stop = true;
  callers.join();
  EXPECT_EQ(wrong, 0);
}

// fork() while one caller asks where the servers are and the others wait for
// it.
TEST(Fork, WhileFindingOut) {
  RedisServer server;
  Driver driver(server.port());
  driver.router.known = false;
  server.suspend();
  std::atomic<int> right = 0;
  std::thread callers([&] {
    on_threads(4, [&](int i) { right += driver.answers(std::to_string(i)); });
  });
  ASSERT_TRUE(soon([&] { return driver.router.discoveries == 1; }));
  const pid_t child = driver.fork_all();
  if (child == 0) _exit(driver.answers("child") ? 0 : 1);
  server.resume();
  callers.join();
  EXPECT_EQ(right, 4);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace limitree::redis::fork_test
