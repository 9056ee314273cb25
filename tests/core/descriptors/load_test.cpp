// Every message about a file of descriptors, and what may stand in one.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/descriptors/loaded.hpp"
#include "descriptors/builder.hpp"
#include "descriptors/descriptors.hpp"

namespace limitree::load_test {
namespace {

const std::string kStart = "domain: d\ndescriptors:\n";

TEST(LoadDescriptors, Mistakes) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      // The root.
      {"", "1:1: nothing here: expected the key \"domain\""},
      {"[a]",
       "1:1: a mapping with domain and descriptors is expected, is a list"},
      {"descriptors: []", "1:1: config file cannot have empty domain"},
      {"domain: ''", "1:9: config file cannot have empty domain"},
      {"domain:", "1:8: config file cannot have empty domain"},
      {"domain: [d]", "1:9: domain must be a text, is a list"},
      {"domain: d\ndescriptors: {}",
       "2:14: descriptors must be a list, is a mapping"},
      {"domain: d\ndescriptors: x",
       "2:14: descriptors must be a list, is \"x\""},
      {"domain: d\nparents: 1",
       "2:10: parents must be true or false, is \"1\""},
      // Keys.
      {"domain: d\nratelimit: 1",
       "2:1: config error, unknown key 'ratelimit', did you mean "
       "\"rate_limit\"?"},
      {"domain: d\nfoo: 1", "2:1: config error, unknown key 'foo'"},
      {"domain: d\n1: 1", "2:1: config error, key is not of type string: 1"},
      {"domain: d\ntrue: 1",
       "2:1: config error, key is not of type string: true"},
      {"domain: d\n1.5: 1",
       "2:1: config error, key is not of type string: 1.5"},
      {"domain: d\n~: 1", "2:1: config error, key is not of type string: ~"},
      {"domain: d\nkey: a",
       "2:1: config error, key 'key' belongs to a descriptor, not to the top "
       "of the file"},
      {kStart + "- {key: a, domain: b}",
       "3:12: config error, key 'domain' belongs to the top of the file, not "
       "to a descriptor"},
      {kStart + "- {key: a, unit: day}",
       "3:12: config error, key 'unit' belongs to rate_limit, not to a "
       "descriptor"},
      {kStart + "- {key: a, name: b}",
       "3:12: config error, key 'name' belongs to rate_limit or an entry of "
       "replaces, not to a descriptor"},
      {kStart + "- {key: a, rate_limit: {unit: day, shadow_mode: true}}",
       "3:36: config error, key 'shadow_mode' belongs to the top of the file "
       "or a descriptor, not to rate_limit"},
      {kStart + "- {key: a, rate_limit: {unit: day, descriptors: []}}",
       "3:36: config error, key 'descriptors' belongs to the top of the file "
       "or a descriptor, not to rate_limit"},
      {kStart + "- {key: a, rate_limit: {unit: day, replaces: [{unit: day, "
                "name: b}]}}",
       "3:48: config error, key 'unit' belongs to rate_limit, not to an entry "
       "of replaces"},
      {kStart + "- {key: a, all_or_nothing: true}",
       "3:12: config error, key 'all_or_nothing' belongs to the top of the "
       "file, not to a descriptor"},
      // Lists and values.
      {kStart + "- a",
       "3:3: config error, yaml file contains list of type other than map: "
       "a"},
      {kStart + "- [a]",
       "3:3: config error, yaml file contains list of type other than map: a "
       "list"},
      {kStart + "- {key: a, value: 1.5}",
       "3:19: error checking config: value \"1.5\" must be in quotes"},
      {
          kStart + "- {key: 1e3}",
          "3:9: error checking config: key \"1e3\" must be in quotes",
      },
      {kStart + "- {key: a, value: [b]}",
       "3:19: value must be a text, is a "
       "list"},
      {kStart + "- {key: a, rate_limit: 5}",
       "3:24: rate_limit must be a mapping, is \"5\""},
      {kStart + "- {key: a, shadow_mode: maybe}",
       "3:25: shadow_mode must be true or false, is \"maybe\""},
      {kStart + "- {key: a, quota_mode: 'true'}",
       "3:24: quota_mode must be true or false, is \"true\""},
      {kStart + "- {key: a, metadata: [b]}",
       "3:22: error parsing metadata: must be a mapping, is a list"},
      {kStart + "- {key: a, metadata: {b: [1, {c: -1e400}]}}",
       "3:34: error parsing metadata: the number \"-1e400\" is out of range"},
      // Descriptors.
      {kStart + "- {value: b}", "3:3: descriptor has empty key"},
      {kStart + "- {key: '', value: b}", "3:9: descriptor has empty key"},
      {kStart + "- {key: a}\n- {key: a}",
       "4:9: duplicate descriptor composite key 'd.a'"},
      {kStart + "- {key: a, value: b}\n- {key: a_b}",
       "4:9: duplicate descriptor composite key 'd.a_b'"},
      {kStart + "- {key: a, descriptors: [{key: b, value: c}, {key: b, value: "
                "c}]}",
       "3:52: duplicate descriptor composite key 'd.a.b_c'"},
      {kStart + "- {key: a, value: b, share_threshold: true}",
       "3:9: share_threshold can only be used with wildcard values "
       "(containing '*'), but found key 'a_b'"},
      // rate_limit.
      {kStart + "- {key: a, rate_limit: {requests_per_unit: 5}}",
       "3:24: invalid rate limit unit ''"},
      {kStart + "- {key: a, rate_limit: {unit: minutes}}",
       "3:31: invalid rate limit unit 'minutes'"},
      {kStart + "- {key: a, rate_limit: {unit: unknown}}",
       "3:31: invalid rate limit unit 'unknown'"},
      {kStart + "- {key: a, rate_limit: {unit: [day]}}",
       "3:31: unit must be a text, is a list"},
      {kStart + "- {key: a, rate_limit: {unit: day, unlimited: true}}",
       "3:31: should not specify rate limit unit when unlimited"},
      {kStart + "- {key: a, rate_limit: {unit: day, requests_per_unit: -1}}",
       "3:55: requests_per_unit must not be negative, is -1"},
      {kStart + "- {key: a, rate_limit: {unit: day, requests_per_unit: "
                "4294967296}}",
       "3:55: requests_per_unit must not exceed 4294967295, is 4294967296"},
      {kStart + "- {key: a, rate_limit: {unit: day, requests_per_unit: 0x10}}",
       "3:55: requests_per_unit must be a whole number in plain digits, is "
       "\"0x10\" (hexadecimal)"},
      {kStart + "- {key: a, rate_limit: {unit: day, replaces: [{name: ''}]}}",
       "3:54: should not have an empty replaces entry"},
      {kStart + "- {key: a, rate_limit: {unit: day, replaces: [{}]}}",
       "3:47: should not have an empty replaces entry"},
      {kStart + "- {key: a, rate_limit: {unit: day, replaces: [b]}}",
       "3:47: config error, yaml file contains list of type other than map: "
       "b"},
      {kStart + "- {key: a, rate_limit: {unit: day, name: b, replaces: [{name: "
                "b}]}}",
       "3:63: replaces should not contain name of same descriptor"},
      // What envoyproxy/ratelimit does not know.
      {kStart + "- {key: a, rate_limit: {unit: day, period: 5m}}",
       "3:44: unit and period exclude each other"},
      {kStart + "- {key: a, rate_limit: {period: 5m, unit_multiplier: 2}}",
       "3:54: unit_multiplier and period exclude each other"},
      {kStart + "- {key: a, rate_limit: {unit: day, unit_multiplier: 0}}",
       "3:53: unit_multiplier must be greater than 0, is 0"},
      {kStart + "- {key: a, rate_limit: {unit: year, unit_multiplier: 101}}",
       "3:54: unit_multiplier 101: such a window takes more than 100 years"},
      {kStart + "- {key: a, rate_limit: {unlimited: true, unit_multiplier: 2}}",
       "3:59: should not specify unit_multiplier when unlimited"},
      {kStart + "- {key: a, rate_limit: {period: 5x}}",
       "3:33: period must be a duration such as 500ms, 15s, 3m, 2h, 1d, is "
       "\"5x\""},
      {kStart + "- {key: a, rate_limit: {unlimited: true, period: 5m}}",
       "3:50: should not specify period when unlimited"},
      {kStart + "- {key: a, rate_limit: {unlimited: true, algorithm: gcra}}",
       "3:53: should not specify algorithm when unlimited"},
      {kStart + "- {key: a, rate_limit: {unlimited: true, burst: 3}}",
       "3:49: should not specify burst when unlimited"},
      {kStart + "- {key: a, rate_limit: {unlimited: true, overrun: {percent: "
                "5}}}",
       "3:42: should not specify overrun when unlimited"},
      {kStart + "- {key: a, rate_limit: {unit: day, algorithm: gcar}}",
       "3:47: unknown algorithm \"gcar\", did you mean \"gcra\"?"},
      {kStart + "- {key: a, rate_limit: {unit: day, requests_per_unit: 5, "
                "burst: 9}}",
       "3:65: burst belongs to gcra and leaky_bucket: fixed_window admits its "
       "count at once"},
      {kStart + "- {key: a, rate_limit: {unit: day, algorithm: gcra, burst: "
                "0}}",
       "3:60: burst must be greater than 0, is 0"},
      {kStart + "- {key: a, rate_limit: {unit: day, overrun: {percent: 0}}}",
       "3:55: percent must be 1 to 1000, is 0"},
      {kStart + "- {key: a, rate_limit: {period: 3ns, requests_per_unit: 5}}",
       "3:24: count 5 in 3ns is more than one per nanosecond"},
  };
  for (const auto& [yaml, message] : cases) {
    EXPECT_EQ(mistakes(yaml), Strings{"d.yaml:" + message}) << yaml;
  }
}

TEST(LoadDescriptors, RefusesWhatIsMoreThanData) {
  EXPECT_EQ(mistakes("domain: d\n---\ndomain: e\n"),
            Strings{"d.yaml:2:1: a second document: only one is allowed"});
  EXPECT_EQ(mistakes("domain: d\ndomain: d\n"),
            Strings{"d.yaml:2:1: duplicate key \"domain\""});
}

// As files of envoyproxy/ratelimit have them.
TEST(LoadDescriptors, TakesAnchorsMergeKeysAndTags) {
  const std::string plain = loaded(R"(
domain: d
descriptors:
- {key: a, rate_limit: {unit: day, requests_per_unit: 5}}
- {key: b, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 5}}
- {key: c, rate_limit: {unit: day, requests_per_unit: 9},
   descriptors: [{key: x, value: '5'}, {key: y}]}
- {key: e, descriptors: [{key: x, value: '5'}, {key: y}]}
)")
                                .describe();
  EXPECT_EQ(loaded(R"(
domain: !!str d
descriptors:
- key: a
  rate_limit: &daily {unit: day, requests_per_unit: !!int "5"}
- &b
  key: b
  shadow_mode: !!bool yes
  rate_limit: *daily
- {<<: *b, key: c, shadow_mode: false, rate_limit: {requests_per_unit: 9},
   descriptors: &below [{key: x, value: !!str 5}, {key: y}]}
- key: e
  descriptors: *below
)")
                .describe(),
            plain);
}

// What is refused is where it is written.
TEST(LoadDescriptors, MistakesBehindAliases) {
  EXPECT_EQ(mistakes(kStart + "- {key: a, rate_limit: &x {unit: dat}}\n"
                              "- {key: b, rate_limit: *x}\n"),
            Strings{"d.yaml:3:34: invalid rate limit unit 'dat'"});
  EXPECT_EQ(mistakes(kStart + "- {key: a, value: *ab}\n"),
            Strings{"d.yaml:3:19: unknown anchor 'ab' referenced: a name with "
                    "* must be quoted"});
  EXPECT_EQ(mistakes(kStart + "- {key: !!timestamp a}\n"),
            Strings{"d.yaml:3:9: a value cannot have the tag "
                    "\"!!timestamp\""});
}

TEST(LoadDescriptors, ReportsAllMistakesOfAllFiles) {
  const Strings names = {"a.yaml", "b.yaml", "c.yaml"};
  const Strings yamls = {
      "domain: x\n"
      "descriptors:\n"
      "- key: a\n"
      "  rate_limit: {unit: fortnight, requests_per_unit: x}\n"
      "  descriptors: [{value: b}, {key: c}, {key: c}]\n",
      "domain: x\ndescriptors: [{key: b, rate_limit: {}}]\n", "nothing: 1\n"};
  Result<Descriptors> result = load_descriptors(files_of(yamls, names));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(
      result.status().error().messages,
      (Strings{
          "a.yaml:4:22: invalid rate limit unit 'fortnight'",
          "a.yaml:4:52: requests_per_unit must be a whole number in plain "
          "digits, is \"x\"",
          "a.yaml:5:17: descriptor has empty key",
          "a.yaml:5:45: duplicate descriptor composite key 'x.a.c'",
          "b.yaml:1:9: duplicate domain 'x' in config file",
          "b.yaml:2:36: invalid rate limit unit ''",
          "c.yaml:1:1: config error, unknown key 'nothing'",
          "c.yaml:1:1: config file cannot have empty domain",
      }));
}

TEST(LoadDescriptors, MergesDomainsIfAsked) {
  const Strings names = {"a.yaml", "b.yaml"};
  const std::string first = "domain: d\ndescriptors: [{key: a}]\n";
  const Strings good = {first, "domain: d\ndescriptors: [{key: b}]\n"};
  Result<Descriptors> merged = load_descriptors(files_of(good, names, true));
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged.value().describe(), "d\n  a\n  b\n");
  EXPECT_EQ(merged.value().domains().size(), 1U);

  // Top-level descriptors are added, not merged.
  const Strings bad = {first, "domain: d\ndescriptors: [{key: a}]\n"};
  merged = load_descriptors(files_of(bad, names, true));
  ASSERT_FALSE(merged.ok());
  EXPECT_EQ(merged.status().error().messages,
            Strings{"b.yaml:2:21: duplicate descriptor composite key 'd.a'"});
}

TEST(LoadDescriptors, FilesOfADomainAgree) {
  const Strings names = {"a.yaml", "b.yaml", "c.yaml"};
  const Strings same = {"domain: d\nparents: true\n", "domain: d\n",
                        "domain: d\nparents: true\nall_or_nothing: true\n"};
  Result<Descriptors> merged = load_descriptors(files_of(same, names, true));
  ASSERT_TRUE(merged.ok());
  EXPECT_TRUE(merged.value().domains()[0].parents);
  EXPECT_TRUE(merged.value().domains()[0].all_or_nothing);

  const Strings other = {"domain: d\nparents: true\n",
                         "domain: d\nparents: false\n",
                         "domain: d\nall_or_nothing: false\n"};
  merged = load_descriptors(files_of(other, names, true));
  ASSERT_FALSE(merged.ok());
  EXPECT_EQ(merged.status().error().messages,
            Strings{"b.yaml:1:9: parents differs from that of another file of "
                    "domain 'd'"});
}

TEST(LoadDescriptors, ValuesMayBeOfAnyKind) {
  const Descriptors made = loaded(
      kStart +
      "- {key: a, value: 1}\n"
      "- {key: a, value: true}\n"
      "- {key: a, value: '1.5'}\n"
      "- {key: a, value: ~, rate_limit: ~, descriptors: , metadata: }\n"
      "- {key: b, shadow_mode: yes, quota_mode: On, detailed_metric: FALSE,\n"
      "   rate_limit: {unit: Minute, requests_per_unit: '7'}}\n");
  EXPECT_EQ(made.describe(),
            "d\n"
            "  a=1\n"
            "  a=true\n"
            "  a=1.5\n"
            "  a\n"
            "  b   7 per MINUTE, shadow_mode, quota_mode\n");
}

TEST(LoadDescriptors, AFileMayBeInShadow) {
  const Descriptors made = loaded(
      "domain: d\n"
      "descriptors:\n"
      "- {key: a, rate_limit: {unit: day, requests_per_unit: 7}}\n"
      "shadow_mode: true\n");
  EXPECT_EQ(made.describe(), "d\n  a   7 per DAY, shadow_mode\n");
}

TEST(LoadDescriptors, DomainWithoutDescriptors) {
  EXPECT_EQ(loaded("domain: d").describe(), "d\n");
  EXPECT_EQ(loaded("domain: d\ndescriptors:\n").describe(), "d\n");
}

TEST(LoadDescriptors, NoFiles) {
  Result<Descriptors> none = load_descriptors({});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none.value().find("d"), nullptr);
  EXPECT_EQ(none.value().describe(), "");
}

TEST(LoadDescriptors, TextOfMessagesIsSafe) {
  EXPECT_EQ(mistakes("domain: d\n\"a\\x07\": 1\n"),
            Strings{"d.yaml:2:1: config error, unknown key 'a\\x07'"});
  EXPECT_EQ(
      mistakes(kStart + "- {key: \"a\\nb\"}\n- {key: \"a\\nb\"}\n"),
      Strings{"d.yaml:4:9: duplicate descriptor composite key 'd.a\\x0Ab'"});
}

TEST(DescriptorBuilder, IsFullOnce) {
  Problems problems;
  DescriptorBuilder builder(&problems);
  builder.begin_file("d.yaml", false);
  const std::uint32_t domain = builder.add_domain({{"d", {}}, {}, {}});
  std::string key;
  for (std::size_t i = 0; i < kMaxDescriptors; ++i) {
    key = std::to_string(i);
    ASSERT_TRUE(builder.add(domain, {{key, {}}, {}, false, false, {}}));
  }
  EXPECT_TRUE(problems.empty());
  EXPECT_FALSE(builder.add(domain, {{"x", {3, 4}}, {}, false, false, {}}));
  EXPECT_FALSE(builder.add(domain, {{"y", {5, 6}}, {}, false, false, {}}));
  EXPECT_EQ(problems.to_status("d.yaml").error().messages,
            Strings{"d.yaml:3:4: more than 1000000 descriptors"});
  const Descriptors made = builder.finish();
  DescriptorSteps steps;
  const Entry entry{"999999", "x"};
  made.walk(*made.find("d"), {&entry, 1}, &steps);
  EXPECT_EQ(steps.size(), 1U);
}

TEST(DescriptorBuilder, PlacesAreNotTooLarge) {
  const std::string large(1 << 20, 'x');
  std::string yaml = kStart + "- key: " + large + "\n  descriptors:\n";
  for (int i = 0; i < 300; ++i) {
    yaml += "  - {key: k" + std::to_string(i) + "}\n";
  }
  EXPECT_EQ(mistakes(yaml),
            Strings{"d.yaml:259:11: the names of all descriptors, with those "
                    "above them, have more than 268435456 bytes"});
}

}  // namespace
}  // namespace limitree::load_test
