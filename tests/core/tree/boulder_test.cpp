// Boulder's two files compared with trees written by hand, and their mistakes.

#include "tree/boulder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/tree/loaded.hpp"

namespace limitree {
namespace {

constexpr std::string_view kDefaults = R"(
NewRegistrationsPerIPAddress: {burst: 10, count: 20, period: 1s}
NewRegistrationsPerIPv6Range: {burst: 500, count: 500, period: 3h}
NewOrdersPerAccount: {burst: 300, count: 300, period: 180m}
FailedAuthorizationsPerDomainPerAccount: {burst: 5, count: 5, period: 1h30m}
CertificatesPerDomain: {burst: 50, count: 50, period: 168h}
CertificatesPerDomainPerAccount: {burst: 1, count: 1, period: 168h}
CertificatesPerFQDNSet: {burst: 5, count: 5, period: 1.5s}
)";

// Both forms of ids, and both forms of lists of them in one list.
constexpr std::string_view kOverrides = R"(
- NewRegistrationsPerIPAddress:
    burst: 40
    count: 40
    period: 1s
    ids:
      - id: 10.0.0.2
        comment: an office
      - 2001:db8::1
- NewRegistrationsPerIPv6Range:
    {burst: 50, count: 50, period: 2s, ids: [{id: "2001:db8::/48"}]}
- NewOrdersPerAccount: {burst: 600, count: 600, period: 180m, ids: [12345678]}
  CertificatesPerDomain:
    {burst: 500, count: 500, period: 168h, ids: [example.com, 192.0.2.1]}
- FailedAuthorizationsPerDomainPerAccount:
    {burst: 50, count: 50, period: 1h, ids: ["77", "77:www.example.org"]}
- CertificatesPerDomainPerAccount:
    {burst: 3000, count: 3000, period: 168h, ids: [{id: 12345678}]}
- CertificatesPerFQDNSet:
    {burst: 9, count: 9, period: 1h, ids: ["b.example,a.example"]}
- NewOrdersPerAccount: {burst: 1, count: 1, period: 1s, ids: []}
)";

constexpr std::string_view kByHand = R"(
schema:
  NewRegistrationsPerIPAddress:
    key: ip
    ipv6_prefix: 128
    children:
      "*": {limits: {burst: 10, count: 20, period: 1s}}
      "10.0.0.2": {limits: {burst: 40, count: 40, period: 1s}}
      "2001:db8::1": {limits: {burst: 40, count: 40, period: 1s}}
  NewRegistrationsPerIPv6Range:
    key: cidr6/48
    children:
      "*": {limits: {burst: 500, count: 500, period: 3h}}
      "2001:db8::/48": {limits: {burst: 50, count: 50, period: 2s}}
  NewOrdersPerAccount:
    key: integer
    children:
      "*": {limits: {burst: 300, count: 300, period: 3h}}
      "12345678": {limits: {burst: 600, count: 600, period: 3h}}
  FailedAuthorizationsPerDomainPerAccount:
    key: integer
    children:
      "*": {children: {"*": {limits: {burst: 5, count: 5, period: 90m}}}}
      "77":
        children:
          "*": {limits: {burst: 50, count: 50, period: 1h}}
          www.example.org: {limits: {burst: 50, count: 50, period: 1h}}
  CertificatesPerDomain:
    key: domain
    children:
      "*": {limits: {burst: 50, count: 50, period: 7d}}
      example.com: {limits: {burst: 500, count: 500, period: 7d}}
      192.0.2.1: {limits: {burst: 500, count: 500, period: 7d}}
  CertificatesPerDomainPerAccount:
    key: integer
    children:
      "12345678":
        key: domain
        children: {"*": {limits: {burst: 3000, count: 3000, period: 7d}}}
  CertificatesPerFQDNSet:
    key: fqdn_set
    children:
      "*": {limits: {burst: 5, count: 5, period: 1500ms}}
      "a.example,b.example": {limits: {burst: 9, count: 9, period: 1h}}
  FailedAuthorizationsForPausingPerDomainPerAccount: {}
  LimitOverrideRequestsPerIPAddress: {}
)";

Tree converted(std::string_view defaults, std::string_view overrides) {
  Result<std::string> yaml =
      limits_from_boulder({defaults, "d"}, {overrides, "o"});
  if (yaml.ok()) return loaded(yaml.value());
  ADD_FAILURE() << yaml.status().error().messages.front();
  return Tree();
}

Strings refused(std::string_view defaults, std::string_view overrides) {
  Result<std::string> yaml = limits_from_boulder({defaults, "defaults.yml"},
                                                 {overrides, "overrides.yml"});
  if (yaml.ok()) return {};
  EXPECT_EQ(yaml.status().code(), Code::kInvalidConfig);
  return yaml.status().error().messages;
}

// The levels, with everything that affects decisions.
Strings decided(const Tree& tree, const Segments& path) {
  Plan plan(Operation::kPeek);
  const Status status = tree.match(path, 1, &plan);
  if (!status.ok()) return status.error().messages;
  Strings found;
  for (const Level& level : plan.levels) {
    found.push_back(
        level.limit->policy.str() + " " + bucket_name(plan, level) + " " +
        std::to_string(level.limit->rate.capacity) + " " +
        std::to_string(level.limit->rate.emission_interval.count()));
  }
  return found;
}

TEST(Boulder, DecidesAsATreeWrittenByHand) {
  const Tree tree = converted(kDefaults, kOverrides);
  const Tree by_hand = loaded(kByHand);
  const std::vector<Segments> paths = {
      {"NewRegistrationsPerIPAddress", "10.0.0.1"},
      {"NewRegistrationsPerIPAddress", "10.0.0.2"},
      {"NewRegistrationsPerIPAddress", "2001:DB8::1"},
      {"NewRegistrationsPerIPAddress", "2001:db8::2"},
      {"NewRegistrationsPerIPAddress", "nobody"},
      {"NewRegistrationsPerIPv6Range", "2001:db8::5"},
      {"NewRegistrationsPerIPv6Range", "2001:db8:1::/48"},
      {"NewOrdersPerAccount", "12345678"},
      {"NewOrdersPerAccount", "1"},
      {"FailedAuthorizationsPerDomainPerAccount", "77", "a.example"},
      {"FailedAuthorizationsPerDomainPerAccount", "77", "www.example.org"},
      {"FailedAuthorizationsPerDomainPerAccount", "78", "a.example"},
      {"CertificatesPerDomain", "www.example.com"},
      {"CertificatesPerDomain", "example.org"},
      {"CertificatesPerDomain", "192.0.2.1"},
      {"CertificatesPerDomain", "2001:db8::1"},
      {"CertificatesPerDomainPerAccount", "12345678", "www.example.org"},
      {"CertificatesPerDomainPerAccount", "1", "www.example.org"},
      {"CertificatesPerFQDNSet", "A.example,b.example"},
      {"CertificatesPerFQDNSet", "c.example"},
      {"FailedAuthorizationsForPausingPerDomainPerAccount", "1", "a.example"},
      {"LimitOverrideRequestsPerIPAddress", "10.0.0.1"},
  };
  std::size_t levels = 0;
  for (const Segments& path : paths) {
    EXPECT_EQ(decided(tree, path), decided(by_hand, path)) << path[0];
    levels += decided(tree, path).size();
  }
  EXPECT_EQ(levels, 19U);
  EXPECT_EQ(decided(tree, paths[1]),
            Strings{"NewRegistrationsPerIPAddress:10.0.0.2 "
                    "NewRegistrationsPerIPAddress:10.0.0.2 40 25000000"});
}

// Boulder ignores a default of CertificatesPerDomainPerAccount.
TEST(Boulder, KnowsWhichLimitHasNoDefault) {
  const Tree tree = converted(kDefaults, kOverrides);
  EXPECT_TRUE(
      decided(tree, {"CertificatesPerDomainPerAccount", "1", "a.example"})
          .empty());
}

TEST(Boulder, ReadsTheFormerFormOfOverrides) {
  const Tree tree = converted(
      kDefaults,
      "NewOrdersPerAccount:12345678: {burst: 1, count: 1, period: 1s}\n"
      "NewRegistrationsPerIPAddress:2001:db8::1:\n"
      "  {burst: 2, count: 1, period: 1s}\n"
      "FailedAuthorizationsPerDomainPerAccount:7:a.example:\n"
      "  {burst: 3, count: 1, period: 1s}\n");
  const auto capacity = [&tree](const Segments& path) {
    Plan plan(Operation::kPeek);
    EXPECT_TRUE(tree.match(path, 1, &plan).ok());
    return plan.levels[0].limit->rate.capacity;
  };
  EXPECT_EQ(capacity({"NewOrdersPerAccount", "12345678"}), 1);
  EXPECT_EQ(capacity({"NewRegistrationsPerIPAddress", "2001:db8::1"}), 2);
  const char* const failed = "FailedAuthorizationsPerDomainPerAccount";
  EXPECT_EQ(capacity({failed, "7", "a.example"}), 3);
  EXPECT_EQ(capacity({failed, "7", "b.example"}), 5);
}

TEST(Boulder, TakesSetsLongerThanAKeyOfYaml) {
  std::string set;
  for (int i = 0; i < 100; ++i) {
    set += "host-number-" + std::to_string(100 + i) + ".example,";
  }
  set.pop_back();
  const Tree tree = converted(kDefaults,
                              "- CertificatesPerFQDNSet: {burst: 9, count: 9, "
                              "period: 1s, ids: [\"" +
                                  set + "\"]}\n");
  EXPECT_TRUE(decided(tree, {"CertificatesPerFQDNSet", set})[0].ends_with(
      " 9 111111111"));
}

TEST(Boulder, TellsEveryMistakeOfBothFiles) {
  const Strings found = refused(R"(NewOrders: {burst: 1, count: 1, period: 1s}
NewOrdersPerAccount: {burst: 0, count: -1, period: 1y}
CertificatesPerDomain: {burst: 1, cuont: 1}
NewRegistrationsPerIPAddress: 5
NewRegistrationsPerIPv6Range: {burst: 1, count: 5000000000, period: 1s}
CertificatesPerFQDNSet: {burst: many, count: 1, period: 1s}
)",
                                R"(- NewOrdersPerAccount:
    {burst: 1, count: 1, period: 1s, ids: [x, {id: 7}, 007, {comment: c}, [1]]}
- NewOrdersPerAccount: {burst: 1, count: 1, period: 1s}
- NewOrdersPerAccount: {burst: 1, count: 1, period: 1s, ids: 7}
- CertificatesPerDomain:
    {burst: 1, count: 1, period: 1s, ids: [www.example.com, "*.a.com", ""]}
- NewOrders: {burst: 1, count: 1, period: 1s, ids: [5]}
- NewRegistrationsPerIPv6Range:
    {burst: 1, count: 1, period: 1s, ids: ["2001:db8::/64", {id: a, x: 1}]}
- 5
)");
  EXPECT_EQ(
      found,
      (Strings{
          "defaults.yml:1:1: unknown limit \"NewOrders\", known are: "
          "NewRegistrationsPerIPAddress, NewRegistrationsPerIPv6Range, "
          "NewOrdersPerAccount, FailedAuthorizationsPerDomainPerAccount, "
          "CertificatesPerDomain, CertificatesPerDomainPerAccount, "
          "CertificatesPerFQDNSet, "
          "FailedAuthorizationsForPausingPerDomainPerAccount, "
          "LimitOverrideRequestsPerIPAddress",
          "defaults.yml:2:30: burst must be greater than 0, is 0",
          "defaults.yml:2:40: count must be greater than 0, is -1",
          "defaults.yml:2:52: period must be a duration such as 180m or "
          "1h30m, is \"1y\"",
          "defaults.yml:3:24: count is missing",
          "defaults.yml:3:24: period is missing",
          "defaults.yml:3:35: unknown key of a limit \"cuont\", did you mean "
          "\"count\"?",
          "defaults.yml:4:31: a limit must be a mapping of burst, count and "
          "period, is \"5\"",
          "defaults.yml:5:31: count 5000000000 in 1000000000ns is more than "
          "one per nanosecond",
          "defaults.yml:6:33: burst must be a whole number in plain digits, is "
          "\"many\"",
          "overrides.yml:2:44: \"x\" is not a whole number",
          "overrides.yml:2:56: a second override of NewOrdersPerAccount for "
          "\"007\"",
          "overrides.yml:2:61: id is missing",
          "overrides.yml:2:75: an id must be a text, is a list",
          "overrides.yml:3:24: ids is missing",
          "overrides.yml:4:62: ids must be a list, is \"7\"",
          "overrides.yml:6:61: an id must not be empty or have a *, is "
          "\"*.a.com\"",
          "overrides.yml:6:72: an id must not be empty or have a *, is \"\"",
          "overrides.yml:7:3: unknown limit \"NewOrders\", known are: "
          "NewRegistrationsPerIPAddress, NewRegistrationsPerIPv6Range, "
          "NewOrdersPerAccount, FailedAuthorizationsPerDomainPerAccount, "
          "CertificatesPerDomain, CertificatesPerDomainPerAccount, "
          "CertificatesPerFQDNSet, "
          "FailedAuthorizationsForPausingPerDomainPerAccount, "
          "LimitOverrideRequestsPerIPAddress",
          "overrides.yml:9:44: \"2001:db8::/64\" is a network of another size "
          "than its key says",
          "overrides.yml:9:66: \"a\" is not an IPv6 address",
          "overrides.yml:9:69: unknown key of an id \"x\", known are: id, "
          "comment",
          "overrides.yml:10:3: an override must be a mapping of a name, is "
          "\"5\"",
      }));
}

// Files like Boulder's own: a short comment, ids below a registrable domain,
// which is not counted by them, and sets of which no other is known.
TEST(Boulder, TellsWhatHasNoEffect) {
  std::vector<std::string> warnings;
  Result<std::string> yaml = limits_from_boulder(
      {R"(NewOrdersPerAccount: { burst: 1500, count: 1500, period: 3h }
CertificatesPerDomain: { burst: 2, count: 2, period: 2160h }
CertificatesPerDomainPerAccount: { burst: 2, count: 2, period: 2160h }
)",
       "defaults.yml"},
      {R"(- CertificatesPerDomain:
    burst: 1
    count: 1
    period: 2160h
    ids:
      - id: seldom.example
        comment: a test
#      - id: nobody.example
- CertificatesPerDomain:
    burst: 9999
    count: 9999
    period: 2160h
    ids:
      - id: often.example
      - id: sub.often.example
        comment: counted as often.example
- CertificatesPerFQDNSet:
    burst: 9999
    count: 9999
    period: 168h
    ids:
      - id: sub.often.example
      - id: often.example,seldom.example
- NewOrdersPerAccount: {burst: 1500, count: 1500, period: 180m, ids: [{id: 7}]}
)",
       "overrides.yml"},
      &warnings);
  ASSERT_TRUE(yaml.ok()) << yaml.status().error().messages[0];
  EXPECT_EQ(warnings,
            (Strings{"defaults.yml:3:1: CertificatesPerDomainPerAccount has "
                     "overrides alone: a default has no effect",
                     "overrides.yml:15:13: \"sub.often.example\" is counted as "
                     "\"often.example\": an override of it has no effect",
                     "overrides.yml:24:76: the override of NewOrdersPerAccount "
                     "for \"7\" says what its default says"}));
  const Tree tree = loaded(yaml.value());
  EXPECT_EQ(decided(tree, {"CertificatesPerDomain", "sub.often.example"}),
            decided(tree, {"CertificatesPerDomain", "often.example"}));
}

TEST(Boulder, FilesOfAnotherForm) {
  EXPECT_EQ(
      refused("", "- 1"),
      (Strings{"defaults.yml:1:1: nothing here: expected names and limits",
               "overrides.yml:1:3: an override must be a mapping of a "
               "name, is \"1\""}));
  EXPECT_EQ(refused("[a]", "a"),
            (Strings{"defaults.yml:1:1: a mapping of names to limits is "
                     "expected, is a list",
                     "overrides.yml:1:1: a list of overrides is expected, is "
                     "\"a\""}));
  EXPECT_EQ(refused("{}", "a: {burst: 1, count: 1, period: 1s}"),
            Strings{"overrides.yml:1:1: an override is name:id, is \"a\""});
  EXPECT_TRUE(refused("{}", "[]").empty());
}

}  // namespace
}  // namespace limitree
