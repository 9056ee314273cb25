// A request that the deny cache denies allocates nothing.

#include <gtest/gtest.h>

#include <cstddef>

#include "core/counted_allocations.hpp"
#include "core/store/fake_store.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"
#include "tree/schema.hpp"

namespace limitree {
namespace {

TEST(DenyCache, DeniesWithoutAnAllocation) {
  Result<Tree> tree = load_tree(R"(
schema:
  user:
    children:
      "*":
        limits: 5/day
        children: {trade: {limits: [2/day, {name: hourly, count: 1,
                                            period: 1h}]}})",
                                "test.yaml");
  ASSERT_TRUE(tree.ok());
  ManualClock clock;
  Options options;
  options.clock = clock.clock();
  auto* const store = new FakeStore(&clock);
  Limiter limiter(std::make_shared<const Tree>(std::move(tree.value())),
                  options,
                  behind_guards(std::unique_ptr<Store>(store), options));
  const std::string_view path[] = {"user", "alex", "trade"};
  const PathCost path_cost{path, 1};
  Decision decision;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(limiter
                    .decide(Operation::kAuthorize, {{&path_cost, 1}}, nullptr,
                            &decision)
                    .ok());
  }
  ASSERT_TRUE(decision.limited);
  const int asked = store->asked;
  const std::size_t before = allocations;
  for (int i = 0; i < 1000; ++i) {
    (void)limiter.decide(Operation::kAuthorize, {{&path_cost, 1}}, nullptr,
                         &decision);
  }
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(decision.source, Source::kDenyCache);
  EXPECT_EQ(decision.level_count, 3);
  EXPECT_EQ(store->asked, asked);
}

}  // namespace
}  // namespace limitree
