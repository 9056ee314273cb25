// Decisions of a tree with `overrides: file` and `key: kind`.  The mistakes are
// in tests/data/limits/.

#include <gtest/gtest.h>

#include <string>

#include "core/tree/loaded.hpp"

namespace limitree {
namespace {

constexpr std::string_view kUsers = R"(
schema:
  user:
    overrides: users.csv
    children:
      "*":
        limits: 30/minute
        children:
          trade: {limits: 10/minute}
      carol: {limits: 7/minute}
      "bot-*": {limits: 3/minute}
)";

TEST(Overrides, ChangeLimitsAndNothingElse) {
  const Tree tree = loaded(kUsers, {{"users.csv",
                                     "id,count,period,burst\n"
                                     "alex,600,1m,\n"
                                     "dave,600,1m,100\n"
                                     "bot-1,5,1m,\n"}});
  const std::string trade = "user:*/trade user:";
  EXPECT_EQ(levels(tree, {"user", "alex", "trade"}),
            (Strings{"user:* user:alex 600", trade + "alex:trade 10"}));
  EXPECT_EQ(levels(tree, {"user", "dave"}), Strings{"user:* user:dave 100"});
  EXPECT_EQ(levels(tree, {"user", "erin", "trade"}),
            (Strings{"user:* user:erin 30", trade + "erin:trade 10"}));
  // Names in the tree and in the file go before patterns.
  EXPECT_EQ(levels(tree, {"user", "carol"}),
            Strings{"user:carol user:carol 7"});
  EXPECT_EQ(levels(tree, {"user", "bot-1"}), Strings{"user:* user:bot-1 5"});
  EXPECT_EQ(levels(tree, {"user", "bot-2"}),
            Strings{"user:bot-* user:bot-2 3"});
}

TEST(Overrides, TheSameInEitherForm) {
  const std::string head = "schema: {user: {overrides: f";
  const std::string tail = ", children: {\"*\": {limits: 1/s}}}}";
  const Tree csv = loaded(head + ".csv" + tail, {{"f.csv",
                                                  "limits,id,mode\r\n"
                                                  "600/minute burst 7,a,\r\n"
                                                  "[],b,\r\n"
                                                  "\r\n"
                                                  "2/s,\" c,\"\"\",\r\n"}});
  for (const char* end : {".yaml", ".yml"}) {
    const Tree yaml =
        loaded(head + end + tail, {{std::string("f") + end,
                                    "a: 600/minute burst 7\n"
                                    "b: []\n"
                                    "\" c,\\\"\": {count: 2, period: 1s}\n"}});
    for (const std::string_view id : {"a", "b", " c,\"", "d"}) {
      EXPECT_EQ(levels(csv, {"user", id}), levels(yaml, {"user", id})) << id;
    }
    EXPECT_EQ(yaml.limit_count(), csv.limit_count());
  }
  EXPECT_EQ(levels(csv, {"user", "a"}), Strings{"user:* user:a 7"});
  EXPECT_TRUE(levels(csv, {"user", "b"}).empty());
  EXPECT_EQ(levels(csv, {"user", " c,\""}), Strings{"user:* user:%20c,\" 2"});
}

TEST(Overrides, EveryFieldOfALimit) {
  const Tree tree = loaded(
      "schema: {user: {charge: independent, overrides: f.csv,\n"
      "  children: {\"*\": {limits: 1/s}}}}",
      {{"f.csv",
        "id,count,period,max_burst,cost,mode,charge,algorithm,name,comment\n"
        "a,30,1m,15,0,shadow,all_or_nothing,gcra,big,who knows\n"
        "b,30,1m,,,,,,,\n"}});
  ASSERT_EQ(tree.limit_count(), 3U);
  const Limit& a = tree.limits_of("user")[1];
  EXPECT_EQ(a.rate.capacity, 16);
  EXPECT_EQ(a.rate.emission_interval, std::chrono::seconds(2));
  EXPECT_EQ(a.cost, 0);
  EXPECT_EQ(a.mode, Mode::kShadow);
  EXPECT_EQ(a.charge, Charge::kAllOrNothing);
  EXPECT_EQ(a.name, "big");
  EXPECT_EQ(a.index, 1U);
  const Limit& b = tree.limits_of("user")[2];
  EXPECT_EQ(b.charge, Charge::kIndependent);
  EXPECT_EQ(b.policy, "user:*");
}

TEST(Overrides, SeveralLimitsOfOneId) {
  const Tree tree =
      loaded("schema: {user: {overrides: f.yaml, children: {\"*\": {}}}}",
             {{"f.yaml", "a: [5/s, {name: slow, count: 9, period: 1d}]\n"}});
  EXPECT_EQ(
      levels(tree, {"user", "a"}),
      (Strings{"user:*#5/1s user:a#5/1s 5", "user:*#slow user:a#slow 9"}));
  EXPECT_TRUE(levels(tree, {"user", "b"}).empty());
}

// Equal limits of many ids are stored once.
TEST(Overrides, LimitsThatAreTheSameAreOne) {
  std::string csv = "id,count,period\n";
  for (int i = 0; i < 10'000; ++i) {
    csv +=
        "u" + std::to_string(i) + "," + std::to_string(100 + i % 5) + ",1m\n";
  }
  const Tree tree = loaded(kUsers, {{"users.csv", csv}});
  EXPECT_EQ(tree.limit_count(), 4U + 5U);
  for (int i = 0; i < 10'000; i += 37) {
    const std::string name = "u" + std::to_string(i);
    EXPECT_EQ(
        levels(tree, {"user", name}),
        Strings{"user:* user:" + name + " " + std::to_string(100 + i % 5)});
  }
  EXPECT_EQ(levels(tree, {"user", "u10000"}), Strings{"user:* user:u10000 30"});
}

// Hundreds of thousands of different limits, more than the reader remembers.
TEST(Overrides, LimitsThatAllDiffer) {
  std::string csv = "id,count,period\n";
  for (int i = 1; i <= 200'000; ++i) {
    csv += std::to_string(i) + "," + std::to_string(i) + ",1m\n";
  }
  const Tree tree = loaded(kUsers, {{"users.csv", csv}});
  for (int i = 1; i <= 200'000; i += 997) {
    const std::string id = std::to_string(i);
    EXPECT_EQ(levels(tree, {"user", id}),
              Strings{"user:* user:" + id + " " + id});
  }
}

// An exact child of an outer node, and a file that it inherits.
TEST(Overrides, AreInherited) {
  const Tree tree = loaded(R"(
schema:
  user:
    children:
      "*":
        overrides: symbols.csv
        children:
          "*": {limits: 10/s, children: {sell: {limits: 1/s}}}
      carol:
        overrides: carol.csv
        children:
          "*": {limits: 20/s}
          eth: {children: {buy: {limits: 2/s}}}
          doge: {limits: 5/s}
          sol: {inherit: false}
)",
                           {{"symbols.csv",
                             "id,limits\nbtc,11/s\neth,12/s\ndoge,13/s\n"
                             "ada,14/s\nsol,15/s\n"},
                            {"carol.csv", "id,limits\nbtc,21/s\n"}});
  const auto capacity = [&tree](const char* user, const char* symbol) {
    const Strings found = levels(tree, {"user", user, symbol});
    if (found.empty()) return std::string("none");
    return found[0].substr(found[0].rfind(' ') + 1);
  };
  EXPECT_EQ(capacity("alex", "btc"), "11");
  EXPECT_EQ(capacity("alex", "xrp"), "10");
  EXPECT_EQ(capacity("carol", "btc"), "21");  // her file before that of "*"
  EXPECT_EQ(capacity("carol", "ada"), "14");  // which she inherits
  EXPECT_EQ(capacity("carol", "xrp"), "20");
  EXPECT_EQ(capacity("carol", "doge"), "5");  // the tree before any file
  EXPECT_EQ(capacity("carol", "eth"), "12");  // states no limits of its own
  EXPECT_EQ(capacity("carol", "sol"), "none");
  EXPECT_EQ(levels(tree, {"user", "carol", "btc", "sell"}),
            (Strings{"user:carol/* user:carol:btc 21",
                     "user:*/*/sell user:carol:btc:sell 1"}));
  EXPECT_EQ(levels(tree, {"user", "carol", "eth", "buy"}).back(),
            "user:carol/eth/buy user:carol:eth:buy 2");
}

TEST(Overrides, LieBesideTheFileThatNamesThem) {
  const std::string yaml(kUsers);
  const ReadFile read = reading({{"conf/users.csv", "id,limits\na,5/s\n"}});
  Result<Tree> tree = load_tree(yaml, "conf/limits.yaml", read);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(levels(tree.value(), {"user", "a"}), Strings{"user:* user:a 5"});
  Result<Tree> none = load_tree(yaml, "limits.yaml", read);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().error().messages,
            Strings{"limits.yaml:4:16: users.csv: no such file"});
}

TEST(Overrides, MistakesAreToldFileByFileAndBounded) {
  std::string csv = "id,count,period\n";
  for (int i = 0; i < 5000; ++i) csv += "a,-1,1m\n";
  const Strings found =
      mistakes(std::string(kUsers) + "  x: 1\n", {{"users.csv", csv}});
  ASSERT_EQ(found.size(), Problems::kMaxMessages + 1);
  EXPECT_TRUE(found[0].starts_with("f:12:6: a node must be a mapping"));
  EXPECT_EQ(found[1], "users.csv:2:3: count must be greater than 0, is -1");
  EXPECT_EQ(found[2], "users.csv:3:1: duplicate id \"a\"");
  EXPECT_EQ(found.back(), "users.csv: and 9000 more");
}

// An empty view may point nowhere.
TEST(Overrides, NoTextAtAll) {
  EXPECT_EQ(mistakes(std::string_view()),
            Strings{"f:1:1: nothing here: expected the key \"schema\""});
}

TEST(Overrides, AreDescribedAndExplained) {
  const Tree tree =
      loaded(kUsers, {{"users.csv", "id,limits\na,5/s\nb,5/s\n"}});
  EXPECT_EQ(tree.describe(),
            "user        limits of their own for 2 in users.csv\n"
            "  carol     7 per 1m, capacity 7\n"
            "    trade   as user:*/trade\n"
            "  bot-*     3 per 1m, capacity 3\n"
            "    trade   as user:*/trade\n"
            "  *         30 per 1m, capacity 30\n"
            "    trade   10 per 1m, capacity 10\n");
  const std::vector<std::string_view> path = {"user", "a"};
  EXPECT_EQ(tree.explain(path).value(),
            "path\n"
            "  user   top-level name\n"
            "  a      one of users.csv\n"
            "levels\n"
            "  user:*     5 per 1s, capacity 5\n"
            "    bucket   user:a\n"
            "    refill   one token per 200ms, full after 1s\n");
}

TEST(KeyKinds, MakeOneCallerOfAllWaysToWriteHim) {
  const auto bucket = [](const std::string& key, std::string_view id) {
    const Tree tree = loaded("schema: {x: {key: " + key +
                                 ", overrides: f.csv, children: {\"*\": "
                                 "{limits: 1/s}}}}",
                             {{"f.csv", "id,limits\n"}});
    const Strings found = levels(tree, {"x", id});
    return found.front();
  };
  EXPECT_EQ(bucket("integer", "007"), "x:* x:7 1");
  EXPECT_EQ(bucket("hex", "AB"), "x:* x:ab 1");
  EXPECT_EQ(bucket("domain", "www.Example.co.uk"), "x:* x:example.co.uk 1");
  EXPECT_EQ(bucket("fqdn_set", "b.example,a.example"),
            "x:* x:a.example,b.example 1");
  EXPECT_EQ(bucket("cidr4/16", "10.1.2.3"), "x:* x:10.1.0.0/16 1");
  EXPECT_EQ(bucket("cidr6/48", "2001:db8:1:2::3"),
            "x:* x:2001%3Adb8%3A1%3A%3A/48 1");
  EXPECT_EQ(bucket("text", "A"), "x:* x:A 1");
  EXPECT_EQ(bucket("integer", "a"), "segment 1 \"a\" is not a whole number");
  EXPECT_EQ(bucket("cidr4/16", "::1"),
            "segment 1 \"::1\" is not an IPv4 address");
}

TEST(KeyKinds, IdsOfTreeAndFileAreWrittenAsTheKeySays) {
  const Tree tree =
      loaded(R"(
schema:
  account:
    key: integer
    overrides: f.csv
    children:
      "0042": {limits: 42/s}
      "*": {limits: 1/s}
  range:
    key: cidr6/48
    overrides: g.csv
    children:
      "2001:db8:1::/48": {limits: 48/s}
      "*": {limits: 1/s}
  ip:
    key: ip
    overrides: h.csv
    children:
      "10.0.0.0/8": {limits: 8/s}
      "*": {limits: 1/s}
)",
             {{"f.csv", "id,limits\n007,7/s\n"},
              {"g.csv", "id,limits\n2001:DB8:2::1,2/s\n"},
              {"h.csv", "id,limits\n10.0.0.7,7/s\n2001:DB8::0:1,6/s\n"}});
  const auto one = [&tree](std::string_view root, std::string_view id) {
    return levels(tree, {root, id}).front();
  };
  EXPECT_EQ(one("account", "42"), "account:0042 account:42 42");
  EXPECT_EQ(one("account", "7"), "account:* account:7 7");
  EXPECT_EQ(one("account", "8"), "account:* account:8 1");
  EXPECT_EQ(one("range", "2001:db8:1:ffff::1"),
            "range:2001%3Adb8%3A1%3A%3A/48 range:2001%3Adb8%3A1%3A%3A/48 48");
  EXPECT_EQ(one("range", "2001:db8:2::"),
            "range:* range:2001%3Adb8%3A2%3A%3A/48 2");
  EXPECT_EQ(one("ip", "::ffff:10.0.0.7"), "ip:* ip:10.0.0.7 7");
  EXPECT_EQ(one("ip", "64:ff9b::10.0.0.7"), "ip:* ip:10.0.0.7 7");
  EXPECT_EQ(one("ip", "10.0.0.8"), "ip:10.0.0.0/8 ip:10.0.0.8 8");
  // Like an exact child, it counts only its own address.
  EXPECT_EQ(one("ip", "2001:db8::1"), "ip:* ip:2001%3Adb8%3A%3A1 6");
  EXPECT_EQ(one("ip", "2001:db8::2"), "ip:* ip:2001%3Adb8%3A%3A/64 1");
}

TEST(KeyKinds, AreInheritedAndMayBeTakenBack) {
  const Tree tree = loaded(R"(
schema:
  org:
    children:
      "*": {key: integer, children: {"*": {limits: 1/s}}}
      free: {key: text}
)");
  EXPECT_EQ(levels(tree, {"org", "a", "01"}), Strings{"org:*/* org:a:1 1"});
  EXPECT_EQ(levels(tree, {"org", "a", "x"}),
            Strings{"segment 2 \"x\" is not a whole number"});
  EXPECT_EQ(levels(tree, {"org", "free", "x"}),
            Strings{"org:*/* org:free:x 1"});
}

TEST(KeyKinds, PatternsSeeTheCanonicalForm) {
  const Tree tree = loaded(
      "schema: {d: {key: domain, children: {\"*.example\": {limits: 9/s},\n"
      "  \"example*\": {share: true, limits: 5/s}, \"*\": {limits: 1/s}}}}");
  EXPECT_EQ(levels(tree, {"d", "A.B.Example"}),
            Strings{"d:*.example d:b.example 9"});
  EXPECT_EQ(levels(tree, {"d", "www.example.com"}),
            Strings{"d:example* d:example* 5"});
}

}  // namespace
}  // namespace limitree
