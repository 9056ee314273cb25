// Walking an ordinary path does not allocate.

#include <gtest/gtest.h>

#include <cstddef>

#include "core/counted_allocations.hpp"
#include "core/tree/loaded.hpp"

namespace limitree {
namespace {

TEST(Match, AllocatesNothingForOrdinaryPaths) {
  std::string yaml = R"(
schema:
  ip:
    key: ip
    children: {"10.0.0.0/8": {limits: 1/s}, "*": {limits: 2/s}}
  user:
    limits: 100/s
    children:
      "*":
        limits: [15, 30, 60]
        children: {trade: {limits: [5, 10, 15]}}
      "bot-*": {share: true}
)";
  for (int i = 0; i < 100; ++i)
    yaml += "      u" + std::to_string(i) + ": {}\n";
  const Tree tree = loaded(yaml);
  const std::vector<Segments> paths = {
      {"user", "alex", "trade", "beyond"},
      {"user", "bot-1", "trade"},
      {"user", "u42", "trade"},
      {"ip", "192.168.100.200"},
      {"ip", "10.0.0.1"},
  };
  for (const Segments& path : paths) {
    Plan plan(Operation::kAuthorize);
    const std::size_t before = allocations;
    const bool ok = tree.match(path, 1, &plan).ok();
    EXPECT_EQ(allocations, before) << path[1];
    EXPECT_TRUE(ok);
    EXPECT_FALSE(plan.levels.empty());
  }
}

}  // namespace
}  // namespace limitree
