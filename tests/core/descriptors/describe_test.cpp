// Descriptors as text for people.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/descriptors/loaded.hpp"

namespace limitree {
namespace {

constexpr const char* kYaml = R"(
domain: d
descriptors:
- key: a
  value: x
  rate_limit: {unit: minute, requests_per_unit: 5}
  descriptors:
  - {key: b, value_to_metric: true, rate_limit: {unit: hour}}
- key: f
  value: "x/*"
  share_threshold: true
  rate_limit: {unit: day, requests_per_unit: 7}
- key: u
  rate_limit: {unlimited: true}
- key: nothing
)";

std::string explained(const Descriptors& made,
                      const std::vector<Entry>& entries) {
  return made.explain("d", entries);
}

TEST(DescribeDescriptors, OneLineEach) {
  EXPECT_EQ(loaded(kYaml).describe(),
            "d\n"
            "  a=x     5 per MINUTE\n"
            "    b     0 per HOUR: denies everything, value_to_metric\n"
            "  f=x/*   7 per DAY, one bucket for all that match\n"
            "  u       unlimited\n"
            "  nothing\n");
}

TEST(DescribeDescriptors, EveryDomain) {
  const Strings names = {"a.yaml", "b.yaml", "c.yaml"};
  const Strings yamls = {
      "domain: d\nparents: true\ndescriptors: [{key: a}, {key: b}]",
      "domain: e\nall_or_nothing: true",
      "domain: d\nall_or_nothing: yes\ndescriptors: [{key: c}]"};
  Result<Descriptors> made = load_descriptors(files_of(yamls, names, true));
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made.value().describe(),
            "d   all_or_nothing, parents\n"
            "  a\n"
            "  b\n"
            "  c\n"
            "e   all_or_nothing\n");
}

TEST(ExplainDescriptor, RuleAndBucket) {
  EXPECT_EQ(explained(loaded(kYaml), {{"a", "x"}, {"b", "1"}}),
            "descriptor\n"
            "  a=x   exact, its rule does not count: entries follow "
            "(d.yaml:4)\n"
            "  b=1   any value of b: no descriptor has this one, no pattern "
            "matches (d.yaml:8)\n"
            "limits\n"
            "  d.a_x.b    0 per HOUR: denies everything\n"
            "    bucket   d:a:x:b:1#hour!fw\n"
            "    metric   d.a_x.b_1\n");
}

TEST(ExplainDescriptor, Pattern) {
  EXPECT_EQ(explained(loaded(kYaml), {{"f", "x/1"}}),
            "descriptor\n"
            "  f=x/1   the first pattern that matches, f=x/*, one bucket for "
            "all that match (d.yaml:9)\n"
            "limits\n"
            "  d.f_x/*    7 per DAY\n"
            "    bucket   d:f:x/*#day!fw\n"
            "    metric   d.f_x/*\n");
}

TEST(ExplainDescriptor, WhyThereIsNoLimit) {
  const Descriptors made = loaded(kYaml);
  EXPECT_EQ(explained(made, {{"a", "x"}, {"c", "1"}, {"b", "2"}}),
            "descriptor\n"
            "  a=x   exact, its rule does not count: entries follow "
            "(d.yaml:4)\n"
            "  c=1   nothing below d.a_x matches: the walk ends here, without "
            "a rule\n"
            "limits\n"
            "  none: no rule counts\n");
  EXPECT_EQ(explained(made, {{"nothing", ""}}),
            "descriptor\n"
            "  nothing   any value of nothing: no descriptor has this one, no "
            "pattern matches, no rate_limit here (d.yaml:15)\n"
            "limits\n"
            "  none: no rule counts\n");
  EXPECT_EQ(explained(made, {{"u", "1"}}),
            "descriptor\n"
            "  u=1   any value of u: no descriptor has this one, no pattern "
            "matches (d.yaml:13)\n"
            "limits\n"
            "  none: the rule says unlimited\n");
  EXPECT_EQ(made.explain("e", {}),
            "descriptor\n"
            "  there is no domain \"e\": everything is allowed\n");
  EXPECT_EQ(explained(made, {}),
            "descriptor\n"
            "limits\n"
            "  none: no rule counts\n");
}

TEST(ExplainDescriptor, Parents) {
  const Descriptors made = loaded(std::string("parents: true") + kYaml);
  EXPECT_EQ(explained(made, {{"a", "x"}, {"c", "1"}}),
            "descriptor\n"
            "  a=x   exact (d.yaml:4)\n"
            "  c=1   nothing below d.a_x matches: the walk ends here\n"
            "limits\n"
            "  d.a_x      5 per MINUTE\n"
            "    bucket   d:a:x#minute!fw\n"
            "    metric   d.a_x\n");
}

}  // namespace
}  // namespace limitree
