// Matching an ordinary request does not allocate, and judging any does not.

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/judge.hpp"
#include "core/counted_allocations.hpp"
#include "core/descriptors/loaded.hpp"
#include "descriptors/rule_hits.hpp"

namespace limitree {
namespace {

TEST(MatchRequest, AllocatesNothingForOrdinaryRequests) {
  std::string yaml = R"(
domain: shop
descriptors:
- {key: plan, rate_limit: {unit: hour, requests_per_unit: 5, name: basic}}
- key: plan
  value: pro
  rate_limit: {unit: hour, requests_per_unit: 9, replaces: [{name: basic}]}
- key: path
  value: "/files/*"
  share_threshold: true
  descriptors:
  - {key: user, rate_limit: {unit: minute, requests_per_unit: 3}}
)";
  for (int i = 0; i < 1000; ++i) {
    yaml += "- {key: id, value: n" + std::to_string(i) +
            ", rate_limit: {unit: day, requests_per_unit: 1}}\n";
  }
  const Descriptors made = loaded(yaml);
  const std::vector<Entry> plan = {{"plan", "free"}};
  const std::vector<Entry> pro = {{"plan", "pro"}};
  const std::vector<Entry> path = {{"path", "/files/1"}, {"user", "alex"}};
  const std::vector<Entry> id = {{"id", "n777"}};
  const std::vector<RequestDescriptor> asked = {{plan}, {pro}, {path}, {id}};
  const DescriptorRequest request{"shop", asked};
  const std::size_t before = allocations;
  MatchedRequest matched;
  const bool ok = matched.match(made, request).ok();
  Plan levels(Operation::kAuthorize);
  matched.add_levels(&levels);
  std::string room;
  const std::string_view metric = matched.metric_key(3, 0, &room);
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(ok);
  EXPECT_EQ(metric, "shop.id_n777");
  EXPECT_EQ(levels.levels.size(), 3U);
}

// A store has charged by then, so nothing may fail.
TEST(RuleHits, JudgeWithoutMemory) {
  const Descriptors made = loaded(
      "domain: d\ndescriptors:\n"
      "- {key: k, rate_limit: {unit: hour, requests_per_unit: 5}}\n");
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back(std::to_string(i));
  std::vector<std::vector<Entry>> entries;
  for (const std::string& name : names) entries.push_back({{"k", name}});
  std::vector<RequestDescriptor> asked;
  for (const auto& one : entries) asked.push_back({one});
  const DescriptorRequest request{"d", asked};
  MatchedRequest matched;
  ASSERT_TRUE(matched.match(made, request).ok());
  Plan plan(Operation::kAuthorize);
  RuleHits hits;
  ASSERT_TRUE(hits.add(matched, &plan).ok());
  decide_assuming(Buckets::kFull, &plan);
  const std::size_t before = allocations;
  hits.judge(plan, {});
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(hits.all()[99].outcome.remaining, 4);
}

}  // namespace
}  // namespace limitree
