// Where the entries of a descriptor lead.

#include "descriptors/descriptors.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/descriptors/loaded.hpp"

namespace limitree {
namespace {

using How = DescriptorStep::How;

// "a=exact b=default": how each entry led on, to the first that did not.
std::string walked(const Descriptors& made, const std::vector<Entry>& entries) {
  DescriptorSteps steps;
  made.walk(*made.find("d"), entries, &steps);
  std::string text;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0) text += ' ';
    text += std::string(entries[i].key) + '=';
    switch (steps[i].how) {
      case How::kExact:
        text += "exact";
        break;
      case How::kWildcard:
        text += "wildcard";
        break;
      case How::kDefault:
        text += "default";
        break;
    }
  }
  return text;
}

// The number of requests of the rule at the end of the walk; -1: none.
int requests(const Descriptors& made, const std::vector<Entry>& entries) {
  DescriptorSteps steps;
  made.walk(*made.find("d"), entries, &steps);
  if (steps.size() != entries.size()) return -1;
  const Rule* const rule = made.rule_at(steps.back());
  return rule == nullptr ? -1 : static_cast<int>(rule->requests_per_unit);
}

std::string metric(const Descriptors& made, const std::vector<Entry>& entries) {
  DescriptorSteps steps;
  const Domain& domain = *made.find("d");
  made.walk(domain, entries, &steps);
  std::string room;
  return std::string(
      made.metric_key(domain, entries, {steps.data(), steps.size()}, &room));
}

std::string limit(int requests) {
  return "rate_limit: {unit: day, requests_per_unit: " +
         std::to_string(requests) + "}";
}

const std::string kStart = "domain: d\ndescriptors:\n";

TEST(FindDomain, ByItsWholeName) {
  const Descriptors made = loaded("domain: d.e\ndescriptors: [{key: f}]");
  EXPECT_NE(made.find("d.e"), nullptr);
  EXPECT_EQ(made.find("d"), nullptr);
  EXPECT_EQ(made.find("f"), nullptr);
  EXPECT_EQ(made.find(""), nullptr);
}

TEST(Walk, ExactThenWildcardThenDefault) {
  const Descriptors made = loaded(
      kStart + "- {key: p, " + limit(3) + "}\n" + "- {key: p, value: 'x*', " +
      limit(2) + "}\n" + "- {key: p, value: x1, " + limit(1) + "}\n");
  EXPECT_EQ(requests(made, {{"p", "x1"}}), 1);
  EXPECT_EQ(requests(made, {{"p", "x"}}), 2);
  EXPECT_EQ(requests(made, {{"p", "x12"}}), 2);
  EXPECT_EQ(requests(made, {{"p", "X1"}}), 3);
  EXPECT_EQ(requests(made, {{"p", ""}}), 3);
  EXPECT_EQ(requests(made, {{"q", "x1"}}), -1);
  EXPECT_EQ(walked(made, {{"p", "x1"}}), "p=exact");
  EXPECT_EQ(walked(made, {{"p", "xy"}}), "p=wildcard");
  EXPECT_EQ(walked(made, {{"p", "y"}}), "p=default");
  EXPECT_EQ(walked(made, {}), "");
}

TEST(Walk, FirstPatternOfTheFileWins) {
  const Descriptors made =
      loaded(kStart + "- {key: p, value: 'x*', " + limit(1) + "}\n" +
             "- {key: p, value: 'xyz*', " + limit(2) + "}\n" +
             "- {key: p, value: '*z', " + limit(3) + "}\n" +
             "- {key: p, value: 'a*b*c', " + limit(4) + "}\n");
  EXPECT_EQ(requests(made, {{"p", "xyz1"}}), 1);
  EXPECT_EQ(requests(made, {{"p", "xz"}}), 1);
  EXPECT_EQ(requests(made, {{"p", "yz"}}), 3);
  EXPECT_EQ(requests(made, {{"p", "abc"}}), 4);
  EXPECT_EQ(requests(made, {{"p", "a-b-c"}}), 4);
  EXPECT_EQ(requests(made, {{"p", "abcd"}}), -1);
}

TEST(Walk, PatternsOfEachLevelAreItsOwn) {
  const Descriptors made = loaded(
      kStart + "- {key: a, value: '1*', descriptors: [{key: b, value: '2*', " +
      limit(1) + "}]}\n- {key: a, value: '3*', descriptors: [{key: b, value: " +
      "'4*', " + limit(2) + "}]}\n");
  EXPECT_EQ(requests(made, {{"a", "10"}, {"b", "20"}}), 1);
  EXPECT_EQ(requests(made, {{"a", "30"}, {"b", "40"}}), 2);
  EXPECT_EQ(requests(made, {{"a", "10"}, {"b", "40"}}), -1);
  EXPECT_EQ(requests(made, {{"b", "20"}}), -1);
}

TEST(Walk, PatternMayBeInTheKey) {
  const Descriptors made = loaded(kStart + "- {key: 'k*', " + limit(1) + "}\n");
  EXPECT_EQ(requests(made, {{"key", "v"}}), 1);
  EXPECT_EQ(requests(made, {{"k", ""}}), 1);
  EXPECT_EQ(requests(made, {{"l", "k"}}), -1);
}

TEST(Walk, EntriesAreComparedByCompositeNames) {
  const Descriptors made = loaded(kStart + "- {key: a_b, " + limit(1) + "}\n" +
                                  "- {key: c, value: d, " + limit(2) + "}\n");
  EXPECT_EQ(walked(made, {{"a", "b"}}), "a=exact");
  EXPECT_EQ(walked(made, {{"a_b", "x"}}), "a_b=default");
  EXPECT_EQ(walked(made, {{"c_d", "x"}}), "c_d=default");
  EXPECT_EQ(requests(made, {{"c", "e"}}), -1);
}

TEST(Walk, NeverTriesASecondBranch) {
  const Descriptors made = loaded(
      kStart + "- {key: a, value: b, descriptors: [{key: c, " + limit(1) +
      "}]}\n- {key: a, descriptors: [{key: z, " + limit(2) + "}]}\n");
  EXPECT_EQ(walked(made, {{"a", "b"}, {"z", "1"}}), "a=exact");
  EXPECT_EQ(requests(made, {{"a", "b"}, {"z", "1"}}), -1);
  EXPECT_EQ(requests(made, {{"a", "q"}, {"z", "1"}}), 2);
}

TEST(Walk, LongNames) {
  const std::string key(1000, 'k');
  const std::string value(100'000, 'v');
  const Descriptors made =
      loaded(kStart + "- {key: " + key + ", value: 'v*', " + limit(1) + "}\n" +
             "- {key: short, descriptors: [{key: below, " + limit(2) + "}]}\n");
  EXPECT_EQ(requests(made, {{key, value}}), 1);
  EXPECT_EQ(requests(made, {{value, key}}), -1);
  EXPECT_EQ(requests(made, {{"short", value}, {"below", value}}), 2);
}

TEST(Walk, FindsEachOfMany) {
  std::string yaml = kStart;
  for (int i = 0; i < 3000; ++i) {
    yaml += "- {key: k, value: v" + std::to_string(i) + ", " + limit(i) + "}\n";
  }
  const Descriptors made = loaded(yaml);
  for (int i = 0; i < 3000; ++i) {
    EXPECT_EQ(requests(made, {{"k", "v" + std::to_string(i)}}), i);
  }
  EXPECT_EQ(requests(made, {{"k", "v3000"}}), -1);
}

TEST(SharedPattern, TakesThePlaceOfTheValue) {
  const Descriptors made =
      loaded(kStart +
             "- {key: f, value: 'x/*', share_threshold: true}\n"
             "- {key: 'g*', share_threshold: true}\n"
             "- {key: h, value: 'x/*'}\n");
  const auto shared = [&](const Entry& entry) {
    DescriptorSteps steps;
    made.walk(*made.find("d"), {&entry, 1}, &steps);
    return std::string(made.shared_pattern(steps[0], entry.key));
  };
  EXPECT_EQ(shared({"f", "x/1"}), "x/*");
  // The text of the pattern itself counts where it would by the pattern.
  EXPECT_EQ(shared({"f", "x/*"}), "x/*");
  EXPECT_EQ(shared({"gone", "v"}), "g*");
  EXPECT_EQ(shared({"h", "x/1"}), "");
}

TEST(MetricKey, IsThePlaceInTheConfiguration) {
  const Descriptors made =
      loaded(kStart + "- {key: a, value: v, descriptors: [{key: b, " +
             limit(1) + "}, {key: b, value: 'w*', " + limit(2) + "}]}\n");
  EXPECT_EQ(metric(made, {{"a", "v"}, {"b", "x"}}), "d.a_v.b");
  EXPECT_EQ(metric(made, {{"a", "v"}, {"b", "w1"}}), "d.a_v.b_w*");
  EXPECT_FALSE(made.rules()[0].metric_varies);
  EXPECT_EQ(made.rules()[1].limit.policy, "d.a_v.b_w*");
}

TEST(MetricKey, ValueToMetric) {
  const Descriptors made =
      loaded(kStart +
             "- key: a\n  value_to_metric: true\n  descriptors:\n  - {key: "
             "b, " +
             limit(1) + "}\n  - {key: c, value: 'x*', value_to_metric: true, " +
             limit(2) +
             "}\n  - {key: e, value: 'x*', value_to_metric: true, "
             "share_threshold: true, " +
             limit(3) + "}\n  - {key: f, value: 'x*', " + limit(4) + "}\n");
  EXPECT_EQ(metric(made, {{"a", "1"}, {"b", "2"}}), "d.a_1.b");
  EXPECT_EQ(metric(made, {{"a", ""}, {"b", "2"}}), "d.a.b");
  EXPECT_EQ(metric(made, {{"a", "1"}, {"c", "x2"}}), "d.a_1.c_x2");
  EXPECT_EQ(metric(made, {{"a", "1"}, {"e", "x2"}}), "d.a_1.e_x*");
  EXPECT_EQ(metric(made, {{"a", "1"}, {"f", "x2"}}), "d.a_1.f_x*");
}

TEST(MetricKey, DetailedMetric) {
  const Descriptors made = loaded(
      kStart +
      "- {key: a, value_to_metric: true, descriptors: [{key: b, "
      "detailed_metric: true, " +
      limit(1) + "}]}\n" +
      "- {key: s, value: 'x*', share_threshold: true, descriptors: [{key: b, "
      "detailed_metric: true, " +
      limit(2) + "}]}\n" +
      "- {key: t, detailed_metric: true, descriptors: "
      "[{key: u, " +
      limit(3) + "}]}\n");
  EXPECT_EQ(metric(made, {{"a", "1"}, {"b", "2"}}), "d.a_1.b_2");
  EXPECT_EQ(metric(made, {{"a", "1"}, {"b", ""}}), "d.a_1.b_");
  EXPECT_EQ(metric(made, {{"s", "x1"}, {"b", "2"}}), "d.s_x*.b_2");
  EXPECT_EQ(metric(made, {{"s", "x1"}, {"b", ""}}), "d.s_x*.b");
  // It says something about the descriptor with the limit only.
  EXPECT_EQ(metric(made, {{"t", "1"}, {"u", "2"}}), "d.t.u");
}

TEST(MetricKey, PatternInTheKey) {
  const Descriptors made = loaded(kStart + "- {key: 'k*', " + limit(1) + "}\n" +
                                  "- {key: e_, " + limit(2) + "}\n");
  EXPECT_EQ(metric(made, {{"key", "v"}}), "d.key_k*");
  EXPECT_EQ(metric(made, {{"e", ""}}), "d.e");
}

}  // namespace
}  // namespace limitree
