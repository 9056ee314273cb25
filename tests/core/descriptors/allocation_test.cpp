// Matching an ordinary request does not allocate.

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "core/counted_allocations.hpp"
#include "core/descriptors/loaded.hpp"
#include "descriptors/request.hpp"

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
  const std::vector<AskedDescriptor> asked = {{plan}, {pro}, {path}, {id}};
  const DescriptorRequest request{"shop", asked};
  const std::size_t before = allocations;
  MatchedRequest matched;
  const bool ok = matched.match(made, request).ok();
  Plan levels(Operation::kAuthorize);
  matched.add_levels(false, &levels);
  std::string room;
  const std::string_view metric = matched.metric_key(3, 0, &room);
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(ok);
  EXPECT_EQ(metric, "shop.id_n777");
  EXPECT_EQ(levels.levels.size(), 3U);
}

}  // namespace
}  // namespace limitree
