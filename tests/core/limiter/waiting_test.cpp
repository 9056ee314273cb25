// A decision that waits for a lock of another process keeps nobody else.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "core/store/shared/child_process.hpp"
#include "core/store/temporary_folder.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"
#include "store/shared/shared_store.hpp"
#include "tree/schema.hpp"

namespace limitree {
namespace {

class WaitingLimiter : public testing::Test {
 protected:
  WaitingLimiter() {
    EXPECT_TRUE(set_option("store", "shm://" + path, &options).ok());
    EXPECT_TRUE(set_option("timeout", "60s", &options).ok());
    limiter.emplace(tree(), options, std::move(make_store(options).value()));
  }

  static std::shared_ptr<const Tree> tree() {
    return std::make_shared<const Tree>(
        std::move(load_tree("schema: {a: {limits: 100/h}}", "test").value()));
  }

  Status decide() {
    const std::array<std::string_view, 1> segments = {"a"};
    const PathCost path_cost{Path(segments.data(), 1)};
    Decision decision;
    return limiter->decide(Operation::kAuthorize, {&path_cost, 1}, nullptr,
                           &decision);
  }

  // A process that has stopped with all locks of the file.
  ChildProcess stopped_owner() const {
    ChildProcess child([this] {
      SharedStore::Settings settings;
      settings.url.path = path;
      const auto store = SharedStore::open(settings);
      auto& memory = static_cast<SharedStore&>(*store.value()).memory();
      for (std::uint32_t i = 0; i < memory.shard_count(); ++i) {
        shared::SharedMemory::Waiter waiter;
        if (!memory.lock(i, false, &waiter)) return 1;
      }
      raise(SIGSTOP);
      for (std::uint32_t i = 0; i < memory.shard_count(); ++i) {
        memory.unlock(i);
      }
      return 0;
    });
    child.wait_until_stopped();
    return child;
  }

  const TemporaryFolder folder{"shm"};
  const std::string path = folder.path() + "/limits";
  Options options;
  std::optional<Limiter> limiter;
};

TEST_F(WaitingLimiter, ReloadStatsAndForkDoNotWaitForIt) {
  ASSERT_TRUE(decide().ok());
  ChildProcess owner = stopped_owner();
  std::atomic<bool> decided{false};
  std::thread waiting([&] {
    EXPECT_TRUE(decide().ok());
    decided = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(limiter->reload(*tree()).ok());
  EXPECT_EQ(limiter->stats().reloads, 1);
  limiter->reload(std::make_shared<const Descriptors>());
  EXPECT_EQ(ChildProcess([] { return 7; }).wait(), 7);
  EXPECT_FALSE(decided);
  owner.send(SIGCONT);
  waiting.join();
  EXPECT_EQ(owner.wait(), 0);
  EXPECT_EQ(limiter->stats().totals.allowed(), 2);
}

}  // namespace
}  // namespace limitree
