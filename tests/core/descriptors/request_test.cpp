// From a request of Envoy to the rules and buckets that decide about it.

#include "descriptors/request.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/key.hpp"
#include "core/descriptors/loaded.hpp"

namespace limitree::request_test {
namespace {

using Asked = std::vector<RequestDescriptor>;

const std::string kStart = "domain: d\ndescriptors:\n";

// A rule of so many per minute, with more keys.
std::string limit(int requests, const std::string& more = "") {
  return "rate_limit: {unit: minute, requests_per_unit: " +
         std::to_string(requests) + more + "}";
}

const char* name_of(Match match) {
  switch (match) {
    case Match::kUnmatched:
      return "unmatched";
    case Match::kUnlimited:
      return "unlimited";
    case Match::kReplaced:
      return "replaced";
    case Match::kLimited:
      return "limited";
  }
  return "?";
}

// The match of each descriptor of a request, as words.
Strings matches(const Descriptors& made, const Asked& asked) {
  MatchedRequest matched;
  const DescriptorRequest request{"d", asked};
  EXPECT_TRUE(matched.match(made, request).ok());
  Strings matches;
  for (const MatchedDescriptor& one : matched.descriptors()) {
    matches.emplace_back(name_of(one.match));
  }
  return matches;
}

// "bucket x hits", for each level.
Strings levels(const MatchedRequest& matched, bool refunds = false) {
  Plan plan(refunds ? Operation::kRefund : Operation::kAuthorize);
  matched.add_levels(&plan);
  Strings levels;
  for (const Level& level : plan.levels) {
    levels.push_back(bucket_name(plan, level) + " x " +
                     std::to_string(level.cost));
  }
  return levels;
}

std::string refusal(const Descriptors& made, const DescriptorRequest& request) {
  MatchedRequest matched;
  const Status status = matched.match(made, request);
  if (status.ok()) return "";
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  return status.error().messages.front();
}

TEST(MatchRequest, RefusesWhatEnvoyMustNotSend) {
  const Descriptors made = loaded("domain: d");
  const Entry entry{"a", "1"};
  const Asked one = {{{&entry, 1}}};
  EXPECT_EQ(refusal(made, {"", one}), "rate limit domain must not be empty");
  EXPECT_EQ(refusal(made, {"d", {}}),
            "rate limit descriptor list must not be empty");
  const Asked many(4097, one[0]);
  EXPECT_EQ(refusal(made, {"d", many}),
            "there are 4097 descriptors, the most is 4096");
}

TEST(MatchRequest, RefusesTooManyLevels) {
  const Descriptors made =
      loaded("parents: true\n" + kStart + "- {key: a, " + limit(1) +
             ", descriptors: [{key: b, " + limit(1) + "}]}\n");
  const std::vector<Entry> entries = {{"a", "1"}, {"b", "2"}};
  const Asked fit(2048, {entries});
  EXPECT_EQ(refusal(made, {"d", fit}), "");
  const Asked many(2049, {entries});
  EXPECT_EQ(refusal(made, {"d", many}),
            "the first 2049 descriptors meet 4098 limits, the most is 4096");
}

TEST(MatchRequest, UnknownDomainMatchesNothing) {
  const Descriptors made = loaded(kStart + "- {key: a, " + limit(1) + "}\n");
  const Entry entry{"a", "1"};
  // Not even a bad limit of the request's own is looked at.
  const Asked asked = {{{&entry, 1}}, {{&entry, 1}, RequestLimit{5, 99}}};
  MatchedRequest matched;
  const DescriptorRequest request{"e", asked};
  ASSERT_TRUE(matched.match(made, request).ok());
  EXPECT_EQ(matched.domain(), nullptr);
  EXPECT_EQ(matched.descriptors()[0].match, Match::kUnmatched);
  EXPECT_EQ(matched.descriptors()[1].match, Match::kUnmatched);
  EXPECT_EQ(levels(matched), Strings());
}

TEST(MatchRequest, BucketsAreNamedByDomainAndEntries) {
  const Descriptors made =
      loaded(kStart + "- {key: a, descriptors: [{key: b, " + limit(1) +
             "}]}\n- {key: s, value: 'x/*', share_threshold: true, " +
             limit(1) + "}\n- {key: t, value: 'x/*', " + limit(1) + "}\n");
  const std::vector<Entry> two = {{"a", "1"}, {"b", ""}};
  const std::vector<Entry> other = {{"a", "1_b"}, {"b", ":"}};
  const Entry shared{"s", "x/7"};
  const Entry own{"t", "x/7"};
  const Asked asked = {{two}, {other}, {{&shared, 1}}, {{&own, 1}}};
  MatchedRequest matched;
  const DescriptorRequest request{"d", asked};
  ASSERT_TRUE(matched.match(made, request).ok());
  EXPECT_EQ(levels(matched),
            (Strings{"d:a:1:b:%#minute!fw x 1", "d:a:1_b:b:%3A#minute!fw x 1",
                     "d:s:x/*#minute!fw x 1", "d:t:x/7#minute!fw x 1"}));
  Plan plan(Operation::kAuthorize);
  matched.add_levels(&plan);
  EXPECT_EQ(plan.levels[2].path, 2U);
  EXPECT_EQ(plan.levels[2].limit, &made.rules()[1].limit);
}

TEST(MatchRequest, Hits) {
  const Descriptors made = loaded(kStart + "- {key: a, " + limit(1) + "}\n");
  const Entry entry{"a", "1"};
  const Asked asked = {{{&entry, 1}},
                       {{&entry, 1}, {}, 0},
                       {{&entry, 1}, {}, 7},
                       {{&entry, 1}, {}, UINT64_MAX}};
  for (const auto& [hits_addend, of_request] :
       std::vector<std::pair<std::uint32_t, std::int64_t>>{
           {0, 1}, {1, 1}, {3, 3}, {UINT32_MAX, UINT32_MAX}}) {
    MatchedRequest matched;
    const DescriptorRequest request{"d", asked, hits_addend};
    ASSERT_TRUE(matched.match(made, request).ok());
    EXPECT_EQ(matched.descriptors()[0].hits, of_request);
    EXPECT_EQ(matched.descriptors()[1].hits, 0);
    EXPECT_EQ(matched.descriptors()[2].hits, 7);
    EXPECT_EQ(matched.descriptors()[3].hits, INT64_MAX);
  }
}

TEST(MatchRequest, NegativeHitsAreApart) {
  const Descriptors made = loaded(kStart + "- {key: a, " + limit(1) + "}\n");
  const Entry first{"a", "1"};
  const Entry second{"a", "2"};
  const Asked asked = {{{&first, 1}, {}, {}, true}, {{&second, 1}, {}, 4}};
  MatchedRequest matched;
  const DescriptorRequest request{"d", asked, 2};
  ASSERT_TRUE(matched.match(made, request).ok());
  EXPECT_TRUE(matched.descriptors()[0].refund);
  EXPECT_EQ(levels(matched, false), Strings{"d:a:2#minute!fw x 4"});
  EXPECT_EQ(levels(matched, true), Strings{"d:a:1#minute!fw x 2"});
}

TEST(MatchRequest, SaysWhatEachDescriptorHasMet) {
  const Descriptors made =
      loaded(kStart + "- {key: u, rate_limit: {unlimited: true}}\n" +
             "- {key: a, " + limit(1) + ", descriptors: [{key: b}]}\n");
  const std::vector<Entry> unlimited = {{"u", "1"}};
  const std::vector<Entry> limited = {{"a", "1"}};
  const std::vector<Entry> deeper = {{"a", "1"}, {"b", "1"}};
  const std::vector<Entry> off = {{"a", "1"}, {"x", "1"}};
  EXPECT_EQ(
      matches(made, {{unlimited}, {limited}, {deeper}, {off}, {}}),
      (Strings{"unlimited", "limited", "unmatched", "unmatched", "unmatched"}));
}

TEST(MatchRequest, ReplacesByName) {
  const Descriptors made = loaded(
      kStart + "- {key: a, " + limit(1, ", name: base") + "}\n" +
      "- {key: b, " + limit(5, ", replaces: [{name: base}, {name: x}]") +
      "}\n- {key: u, rate_limit: {unlimited: true, name: base, replaces: "
      "[{name: y}]}}\n- {key: y, " +
      limit(2, ", name: y") + "}\n");
  const std::vector<Entry> a = {{"a", "1"}};
  const std::vector<Entry> b = {{"b", "1"}};
  const std::vector<Entry> u = {{"u", "1"}};
  const std::vector<Entry> y = {{"y", "1"}};
  EXPECT_EQ(matches(made, {{a}}), Strings{"limited"});
  EXPECT_EQ(matches(made, {{a}, {b}}), (Strings{"replaced", "limited"}));
  EXPECT_EQ(matches(made, {{b}, {a}, {a}}),
            (Strings{"limited", "replaced", "replaced"}));
  // What is unlimited replaces, and is not replaced.
  EXPECT_EQ(matches(made, {{u}, {y}, {b}}),
            (Strings{"unlimited", "replaced", "limited"}));
  MatchedRequest matched;
  const Asked asked = {{a}, {b}};
  const DescriptorRequest request{"d", asked};
  ASSERT_TRUE(matched.match(made, request).ok());
  EXPECT_EQ(levels(matched), Strings{"d:b:1#minute!fw x 1"});
  EXPECT_EQ(matched.descriptors()[0].rule, &made.rules()[0]);
}

TEST(MatchRequest, LimitOfTheRequest) {
  const Descriptors made =
      loaded(kStart + "- {key: a, shadow_mode: true, " + limit(1, ", name: n") +
             "}\n- {key: b, " + limit(1, ", replaces: [{name: n}]") + "}\n");
  const std::vector<Entry> a = {{"a", "1"}, {"z", ""}, {"y", "3"}};
  const std::vector<Entry> b = {{"b", "1"}};
  const Asked asked = {{a, RequestLimit{3, 7}}, {b}, {{}, RequestLimit{0, 3}}};
  MatchedRequest matched;
  const DescriptorRequest request{"d", asked};
  ASSERT_TRUE(matched.match(made, request).ok());
  const Rule& rule = *matched.descriptors()[0].rule;
  EXPECT_EQ(matched.descriptors()[0].match, Match::kLimited);
  EXPECT_EQ(rule.requests_per_unit, 3U);
  EXPECT_EQ(rule.unit, LimitUnit::kWeek);
  EXPECT_FALSE(rule.shadow_mode);
  EXPECT_TRUE(matched.descriptors()[2].rule->denies_all());
  EXPECT_EQ(levels(matched), (Strings{"d:a:1:z:%:y:3#week!fw x 1",
                                      "d:b:1#minute!fw x 1", "d#hour!fw x 1"}));
  std::string room;
  EXPECT_EQ(matched.metric_key(0, 0, &room), "d.a_1.z.y_3");
  EXPECT_EQ(matched.metric_key(1, 0, &room), "d.b");
  EXPECT_EQ(matched.metric_key(2, 0, &room), "d.");
}

TEST(MatchRequest, UnknownUnitsAreRefused) {
  const Descriptors made = loaded(kStart + "- {key: a, " + limit(1) + "}\n");
  const Entry entry{"a", "1"};
  for (const std::int32_t unit : {0, 8, -1, INT32_MAX}) {
    const Asked asked = {{{&entry, 1}}, {{&entry, 1}, RequestLimit{3, unit}}};
    EXPECT_EQ(refusal(made, {"d", asked}),
              "descriptor 1 states a limit with the unknown unit " +
                  std::to_string(unit));
  }
}

TEST(MatchRequest, ParentsCountToo) {
  const Descriptors made = loaded(
      "parents: true\n" + kStart + "- key: a\n  " + limit(9, ", name: top") +
      "\n  descriptors:\n  - key: b\n    descriptors:\n    - {key: c, " +
      limit(2) + "}\n    - {key: u, rate_limit: {unlimited: true}}\n" +
      "    - {key: r, " + limit(1, ", replaces: [{name: top}]") + "}\n");
  const auto asked = [](const char* last) {
    return std::vector<Entry>{{"a", "1"}, {"b", "2"}, {last, "3"}};
  };
  const std::vector<Entry> c = asked("c");
  const std::vector<Entry> u = asked("u");
  const std::vector<Entry> off = asked("x");
  const std::vector<Entry> replacing = asked("r");
  const auto levels_of = [&](const std::vector<Entry>& entries) {
    MatchedRequest matched;
    const Asked one = {{entries}};
    const DescriptorRequest request{"d", one};
    EXPECT_TRUE(matched.match(made, request).ok());
    EXPECT_EQ(matched.descriptors()[0].match, Match::kLimited);
    return levels(matched);
  };
  EXPECT_EQ(levels_of(c),
            (Strings{"d:a:1#minute!fw x 1", "d:a:1:b:2:c:3#minute!fw x 1"}));
  EXPECT_EQ(levels_of(u), Strings{"d:a:1#minute!fw x 1"});
  EXPECT_EQ(levels_of(off), Strings{"d:a:1#minute!fw x 1"});
  EXPECT_EQ(levels_of(replacing), Strings{"d:a:1:b:2:r:3#minute!fw x 1"});

  MatchedRequest matched;
  const Asked one = {{c}};
  const DescriptorRequest request{"d", one};
  ASSERT_TRUE(matched.match(made, request).ok());
  std::string room;
  EXPECT_EQ(matched.metric_key(0, 0, &room), "d.a");
  EXPECT_EQ(matched.metric_key(0, 1, &room), "d.a.b.c");
  EXPECT_EQ(&matched.rule(0, 1), matched.descriptors()[0].rule);
}

}  // namespace
}  // namespace limitree::request_test
