// Descriptors as a limits.yaml.

#include <gtest/gtest.h>

#include <string>

#include "core/descriptors/loaded.hpp"
#include "descriptors/descriptors.hpp"
#include "tree/schema.hpp"

namespace limitree {
namespace {

struct Converted {
  std::string yaml;
  Strings lost;
};

// The result is a limits.yaml.
Converted converted(std::string_view yaml) {
  Converted made;
  made.yaml = limits_from_descriptors(loaded(yaml), &made.lost);
  Result<Tree> tree = load_tree(made.yaml, "limits.yaml");
  EXPECT_TRUE(tree.ok()) << made.yaml << tree.status().error().messages.front();
  return made;
}

TEST(ToLimits, EachEntryIsTwoSegments) {
  const Converted made = converted(R"(
domain: apis
descriptors:
- key: path
  value: /search
  descriptors:
  - {key: user, value: root, rate_limit: {unlimited: true}}
  - key: user
    value: bot-*
    share_threshold: true
    rate_limit: {unit: minute, requests_per_unit: 10}
  - {key: user, rate_limit: {unit: minute, requests_per_unit: 60}}
- {key: plan, value: "10", rate_limit: {unit: year, requests_per_unit: 5}}
- {key: plan, value: free}
)");
  EXPECT_EQ(made.yaml, R"(schema:
  apis:
    charge: independent
    children:
      path:
        children:
          /search:
            limits: []
            children:
              user:
                children:
                  root: {inherit: false, limits: []}
                  "bot-*": {inherit: false, share: true, limits: )"
                       R"({algorithm: fixed_window, count: 10, period: 1m}}
                  "*": {limits: )"
                       R"({algorithm: fixed_window, count: 60, period: 1m}}
      plan:
        children:
          "10": {limits: )"
                       R"({algorithm: fixed_window, count: 5, period: 365d}}
          free: {limits: []}
)");
  EXPECT_EQ(made.lost, Strings());
}

// The text of the limit of {key: a, rate_limit: {...}}.
std::string limit_of(const std::string& rule) {
  const Converted made = converted(
      "domain: d\ndescriptors: [{key: a, rate_limit: {" + rule + "}}]");
  EXPECT_EQ(made.lost, Strings());
  const std::size_t begin = made.yaml.find("limits: ") + 8;
  return made.yaml.substr(begin, made.yaml.find("}\n", begin) - begin);
}

TEST(ToLimits, Rules) {
  EXPECT_EQ(limit_of("unit: month, requests_per_unit: 7"),
            "{algorithm: fixed_window, count: 7, period: 30d}");
  EXPECT_EQ(limit_of("unit: week, requests_per_unit: 7"),
            "{algorithm: fixed_window, count: 7, period: 1w}");
  EXPECT_EQ(limit_of("unit: hour, requests_per_unit: 0"),
            "{algorithm: fixed_window, count: 1, period: 1h, cost: 2}");
  EXPECT_EQ(limit_of("unit: second, requests_per_unit: 4294967295"),
            "{algorithm: fixed_window, count: 1000000000, period: 1s}");
  EXPECT_EQ(limit_of("algorithm: gcra, unit: second, requests_per_unit: 3, "
                     "burst: 5"),
            "{algorithm: gcra, count: 3, period: 1s, burst: 5}");
  EXPECT_EQ(limit_of("period: 1.5s, requests_per_unit: 3, "
                     "overrun: {percent: 20, when: idle}"),
            "{algorithm: fixed_window, count: 3, period: 1500ms, "
            "overrun: {percent: 20, when: idle}}");
  EXPECT_EQ(limit_of("algorithm: sliding_log, period: 1m, "
                     "requests_per_unit: 3"),
            "{algorithm: sliding_log, count: 3, period: 1m}");
}

TEST(ToLimits, WhatADomainSays) {
  EXPECT_EQ(converted("domain: \"a b\"").yaml,
            "schema:\n  \"a b\":\n    charge: independent\n");
  EXPECT_EQ(converted("domain: d\nall_or_nothing: true").yaml,
            "schema:\n  d:\n    charge: all_or_nothing\n");
}

TEST(ToLimits, Patterns) {
  const Converted made = converted(R"(
domain: d
descriptors:
- {key: k, rate_limit: {unit: day, requests_per_unit: 1}}
- {key: k, value: "ab*"}
- {key: k, value: "a*"}
- {key: k, value: "a*cde"}
- {key: k, value: "*z*yx"}
- {key: k, value: "*"}
- {key: k, value: "bcd*"}
)");
  // What no request reaches is left out; "*" comes before the key alone.
  EXPECT_EQ(made.yaml, R"(schema:
  d:
    charge: independent
    children:
      k:
        children:
          "ab*": {inherit: false, limits: []}
          "a*": {inherit: false, limits: []}
          "*": {limits: []}
)");
  EXPECT_EQ(made.lost,
            Strings({"d.yaml:8:9: this pattern overlaps a shorter one before "
                     "it, and limits.yaml tries longer ones first"}));
}

TEST(ToLimits, NamesWhatIsLost) {
  const Converted made = converted(R"(
domain: d
descriptors:
- key: above
  rate_limit: {unit: day, requests_per_unit: 1}
  descriptors: [{key: below}]
- {key: "k*", descriptors: [{key: under}]}
- {key: net, value: 10.0.0.0/8}
- {key: "10.0.0.0/9"}
- {key: q, quota_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}
- key: r
  metadata: {a: b}
  rate_limit: {unit: day, requests_per_unit: 1, replaces: [{name: x}]}
)");
  EXPECT_EQ(
      made.lost,
      Strings(
          {"d.yaml:4:8: this limit is for descriptors that end here, and there "
           "are others below: limits.yaml would count those, too",
           "d.yaml:7:9: a key with a * has no equivalent",
           "d.yaml:7:35: what is above it has no equivalent",
           "d.yaml:8:9: limits.yaml takes this value for a network",
           "d.yaml:9:9: limits.yaml takes this key for a network",
           "d.yaml:10:9: quota_mode has no equivalent: this limit denies alone",
           "d.yaml:11:8: metadata has no equivalent",
           "d.yaml:11:8: replaces has no equivalent: all limits of a request "
           "count"}));
  EXPECT_EQ(made.yaml, R"(schema:
  d:
    charge: independent
    children:
      above:
        children:
          "*":
            limits: []
            children:
              below:
                children:
                  "*": {limits: []}
      q:
        children:
          "*": {limits: {algorithm: fixed_window, count: 1, period: 1d}}
      r:
        children:
          "*": {limits: {algorithm: fixed_window, count: 1, period: 1d}}
)");
}

TEST(ToLimits, WithParentsAllLimitsOfAPathCount) {
  const Converted made = converted(R"(
domain: d
parents: true
descriptors:
- key: above
  rate_limit: {unit: day, requests_per_unit: 1}
  descriptors: [{key: below, shadow_mode: true, rate_limit: {unit: day}}]
)");
  EXPECT_EQ(made.lost, Strings());
  EXPECT_NE(made.yaml.find("limits: {algorithm: fixed_window, count: 1, "
                           "period: 1d}\n            children:"),
            std::string::npos);
  EXPECT_NE(made.yaml.find("period: 1d, cost: 2, mode: shadow}}"),
            std::string::npos);
}

TEST(ToLimits, OnlyAsDeepAsALimitsYamlMayBe) {
  std::string yaml = "domain: d\n";
  std::string margin;
  for (int i = 0; i < 16; ++i) {
    yaml += margin + "descriptors:\n" + margin + "- key: k" +
            std::to_string(i) + "\n";
    margin += "  ";
  }
  yaml += margin + "rate_limit: {unit: day, requests_per_unit: 1}\n";
  EXPECT_EQ(converted(yaml).lost,
            Strings({"d.yaml:31:36: limits.yaml cannot be as deep as this",
                     "d.yaml:33:38: what is above it has no equivalent"}));
}

TEST(ToLimits, LongNames) {
  const std::string name(2000, 'x');
  const Converted made =
      converted("domain: d\ndescriptors: [{key: k, value: " + name +
                ", rate_limit: {unit: day, requests_per_unit: 1}}]");
  EXPECT_NE(made.yaml.find("          ? " + name + "\n          : {limits: "),
            std::string::npos);
}

TEST(ToLimits, SeveralFiles) {
  const Strings names = {"a.yaml", "b.yaml"};
  const Strings yamls = {"domain: d\ndescriptors: [{key: b*}, {key: x}]",
                         "domain: d\ndescriptors: [{key: a*}]"};
  Result<Descriptors> made = load_descriptors(files_of(yamls, names, true));
  ASSERT_TRUE(made.ok());
  Strings lost;
  EXPECT_NE(limits_from_descriptors(made.value(), &lost).find("      x:\n"),
            std::string::npos);
  EXPECT_EQ(lost, Strings({"a.yaml:2:21: a key with a * has no equivalent",
                           "b.yaml:2:21: a key with a * has no equivalent"}));
  EXPECT_EQ(limits_from_descriptors(made.value()),
            limits_from_descriptors(made.value(), &lost));
}

// A top-level name of limits.yaml is a name, and no pattern.
TEST(ToLimits, DomainsThatCannotBeTopLevelNames) {
  const std::string below = "\ndescriptors: [{key: k}]\n";
  for (const auto& [domain, why] :
       std::vector<std::pair<std::string, std::string>>{
           {"a*", "a domain with a * has no equivalent"},
           {"*", "a domain with a * has no equivalent"},
           {"10.0.0.0/8", "limits.yaml takes this domain for a network"}}) {
    const Strings yamls = {"domain: '" + domain + "'" + below,
                           "domain: d" + below};
    const Result<Descriptors> all =
        load_descriptors(files_of(yamls, {"a.yaml", "b.yaml"}));
    ASSERT_TRUE(all.ok());
    Strings lost;
    const std::string yaml = limits_from_descriptors(all.value(), &lost);
    EXPECT_EQ(yaml, converted(yamls[1]).yaml);
    EXPECT_EQ(lost,
              (Strings{"a.yaml:1:9: " + why,
                       "a.yaml:2:21: what is above it has no equivalent"}));
    EXPECT_EQ(limits_from_descriptors(loaded(yamls[0]), nullptr), "")
        << "nothing is left";
  }
}

TEST(ToLimits, LeasesNeedTheWholeRequest) {
  constexpr std::string_view kLeased = R"(
descriptors:
- key: user
  rate_limit:
    unit: second
    requests_per_unit: 100
    algorithm: gcra
    lease: {time: 50ms, ahead: true}
)";
  constexpr std::string_view kLimits =
      R"("*": {limits: {algorithm: gcra, count: 100, period: 1s, )"
      R"(charge: all_or_nothing, lease: {time: 50ms, ahead: true}}})";
  const Converted made =
      converted("domain: apis\nall_or_nothing: true" + std::string(kLeased));
  EXPECT_NE(made.yaml.find(kLimits), std::string::npos) << made.yaml;
  EXPECT_EQ(made.lost, Strings{});
  const Converted apart = converted("domain: apis" + std::string(kLeased));
  EXPECT_NE(apart.yaml.find(kLimits), std::string::npos) << apart.yaml;
  EXPECT_EQ(apart.lost,
            Strings{"d.yaml:3:8: lease: limits.yaml charges this limit only "
                    "if all others fit"});
}

}  // namespace
}  // namespace limitree
