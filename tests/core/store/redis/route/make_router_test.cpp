#include "store/redis/route/make_router.hpp"

#include <gtest/gtest.h>

#include "core/store/redis/by_hand.hpp"
#include "store/redis/common/remote.hpp"
#include "store/remote/common/traffic.hpp"

namespace limitree::redis {
namespace {

TEST(SingleRouter, HasOneNodeForEverything) {
  const Settings settings = settings_of("redis://localhost:7000");
  Traffic traffic;
  const std::unique_ptr<Router> router = make_router(settings, &traffic);
  EXPECT_EQ(place(router.get()), "localhost:7000");
  Node* const node = router->route(Target{});
  EXPECT_EQ(router->route(Target{.slot = 5}), node);
  EXPECT_EQ(router->slot_of("a"), 0);
  EXPECT_EQ(router->slot_of("b"), 0);
  std::vector<Node*> nodes;
  router->before_fork();
  router->for_each([&nodes](Node* one) { nodes.push_back(one); });
  router->after_fork();
  EXPECT_EQ(nodes, std::vector<Node*>{node});
}

TEST(SingleRouter, HasNothingToFindOut) {
  const Settings settings = settings_of("redis+unix:///run/redis.sock");
  Traffic traffic;
  const std::unique_ptr<Router> router = make_router(settings, &traffic);
  EXPECT_EQ(place(router.get()), "/run/redis.sock");
  EXPECT_EQ(router->discovery(), nullptr);
  EXPECT_EQ(failure(router.get()), "none");
  EXPECT_EQ(
      router
          ->check_due(router->route(Target{}), std::chrono::steady_clock::now())
          .node,
      nullptr);
}

TEST(SingleRouter, LooksBehindTheNameOfAReplica) {
  const Settings settings = settings_of("redis://localhost:7000");
  Traffic traffic;
  const std::unique_ptr<Router> router = make_router(settings, &traffic);
  Node* const node = router->route(Target{});
  const Outcome read_only = outcome_of("-READONLY You can't write\r\n");
  EXPECT_TRUE(router->learn(node, Target{}, read_only));
  // Connections are not dropped again for the next caller: a new one to the
  // same server would not help.
  EXPECT_FALSE(router->learn(node, Target{}, read_only));
  for (const char* text : {"refused", "timeout", "lost", "backoff",
                           "-LOADING x\r\n", "-OOM x\r\n", "+OK\r\n"}) {
    EXPECT_FALSE(router->learn(node, Target{}, outcome_of(text))) << text;
  }
  const Outcome master_down = outcome_of("-MASTERDOWN Link is down\r\n");
  const Monotonic deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!router->learn(node, Target{}, master_down)) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  }
}

}  // namespace
}  // namespace limitree::redis
