// A process whose callers block is stopped for a while, next to processes that
// want all processors.  The server is healthy, so no call may fail.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "core/store/redis/drive_cases.hpp"
#include "core/store/redis/redis_server.hpp"
#include "store/redis/common/remote.hpp"
#include "store/remote/drivers/blocking_driver.hpp"

namespace limitree::redis {
namespace {

// Shared by the process that makes calls and the process that stops it.
struct Shared {
  std::atomic<bool> stop = false;
  std::atomic<int> right = 0;
  std::atomic<int> wrong = 0;
  std::atomic<bool> opened = false;  // the circuit breaker
  char first[200] = "";              // outcome of the first failed call
};

// Shorter than some of the pauses, but longer than a healthy server has to wait
// for a processor here.
constexpr auto kTimeout = 1000ms;

[[noreturn]] void call(int port, int threads, Shared* shared) {
  const Settings settings = settings_for(kTimeout);
  Traffic traffic;
  FakeRouter router(settings, &traffic, local(port));
  BlockingDriver driver(&router, settings);
  on_threads(threads, [&](int thread) {
    for (int i = 0; !shared->stop; ++i) {
      EchoTask task(std::to_string(thread) + ":" + std::to_string(i));
      driver.run(&task, settings.timeout);
      if (task.right()) {
        ++shared->right;
      } else if (shared->wrong++ == 0) {
        std::snprintf(shared->first, sizeof shared->first, "%s",
                      text_of(task.outcome).c_str());
      }
    }
  });
  router.for_each([&](Node* node) {
    if (node->health().open()) shared->opened = true;
  });
  _exit(0);
}

[[noreturn]] void spin() {
  const std::atomic<bool> forever = true;
  while (forever) {
  }
  _exit(0);
}

template <typename Body>
pid_t process(Body body) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  // A process that spins must not outlive a test that crashes.
  alarm(120);
  if (getppid() != parent) _exit(1);
  body();
  _exit(1);
}

void end(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// How long a process has been ready to run, but had no processor.
std::chrono::nanoseconds without_processor(pid_t one) {
  std::ifstream file("/proc/" + std::to_string(one) + "/schedstat");
  std::int64_t ran = 0;
  std::int64_t waited = 0;
  file >> ran >> waited;
  return std::chrono::nanoseconds(file ? waited : 0);
}

// Runs a process that calls on `threads` threads, and stops and continues it
// several times.  Returns how long the server had no processor in that time.
std::chrono::nanoseconds stop_often(int threads, Shared* shared) {
  const RedisServer server;
  std::vector<pid_t> busy = {process(spin), process(spin)};
  const pid_t caller = process([&] { call(server.port(), threads, shared); });
  const auto goes_on = [&] {
    const int before = shared->right;
    return soon([&] { return shared->right > before + threads; });
  };
  EXPECT_TRUE(goes_on());
  for (const auto pause : {500ms, 60ms, 1500ms, 200ms, 1500ms, 1500ms}) {
    kill(caller, SIGSTOP);
    std::this_thread::sleep_for(pause);
    kill(caller, SIGCONT);
    EXPECT_TRUE(goes_on());
  }
  shared->stop = true;
  int status = 0;
  waitpid(caller, &status, 0);
  EXPECT_EQ(status, 0);
  for (const pid_t one : busy) end(one);
  return without_processor(server.pid());
}

class Stopped : public testing::TestWithParam<int> {};

// If the server gets no processor for about as long as the timeout, it is
// silent.  This test is not about that, so it then repeats a failed run.
TEST_P(Stopped, NobodyIsFailedByAPauseOfItsProcess) {
  for (int tries = 0;; ++tries) {
    void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto* const shared = new (memory) Shared;
    const std::chrono::nanoseconds starved = stop_often(GetParam(), shared);
    const bool failed = shared->wrong > 0 || shared->opened;
    const bool again = failed && starved > kTimeout * 3 / 4 && tries < 4;
    if (!again) {
      EXPECT_EQ(shared->wrong, 0) << "the first failed call: " << shared->first;
      EXPECT_FALSE(shared->opened);
    }
    munmap(memory, sizeof(Shared));
    if (!again) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Stopped, testing::Values(1, 16, 64));

}  // namespace
}  // namespace limitree::redis
