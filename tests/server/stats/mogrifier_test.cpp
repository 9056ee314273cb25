#include "stats/mogrifier.hpp"

#include <gtest/gtest.h>

#include "io/failure.hpp"

namespace limitree::server {
namespace {

std::string refusal(const MogrifierSettings& settings) {
  try {
    const Mogrifier mogrifier(settings);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(Mogrifier, TurnsPartsOfANameIntoTags) {
  const Mogrifier mogrifier({"LIMIT",
                             R"(^ratelimit\.service\.(.*)\.(.*)\.(.*)$)",
                             "ratelimit.$3", "domain:$1,key:<$2>"});
  TaggedName name{"ratelimit.service.web.key_a.total_hits", {{"zone", "a"}}};
  EXPECT_TRUE(mogrifier.apply(&name));
  EXPECT_EQ(name.name, "ratelimit.total_hits");
  EXPECT_EQ(
      name.tags,
      (std::vector<Tag>{{"zone", "a"}, {"domain", "web"}, {"key", "<key_a>"}}));
}

TEST(Mogrifier, LeavesOtherNamesAlone) {
  const Mogrifier mogrifier({"A", "^x", "y", "a:b"});
  TaggedName name{"ax", {}};
  EXPECT_FALSE(mogrifier.apply(&name));
  EXPECT_EQ(name.name, "ax");
  EXPECT_TRUE(name.tags.empty());
}

TEST(Mogrifier, MatchesAnywhere) {
  const Mogrifier mogrifier({"A", "b(.)", "$0-$1$1", ""});
  TaggedName name{"abcd", {}};
  EXPECT_TRUE(mogrifier.apply(&name));
  EXPECT_EQ(name.name, "bc-cc");
}

TEST(Mogrifier, AGroupThatMatchedNothingIsEmpty) {
  const Mogrifier mogrifier({"A", "a|(b)", "[$1]", ""});
  TaggedName name{"a", {}};
  EXPECT_TRUE(mogrifier.apply(&name));
  EXPECT_EQ(name.name, "[]");
}

TEST(Mogrifier, ADollarWithoutNumberIsADollar) {
  const Mogrifier mogrifier({"A", "(a)", "$$1$x$", ""});
  TaggedName name{"a", {}};
  EXPECT_TRUE(mogrifier.apply(&name));
  EXPECT_EQ(name.name, "$a$x$");
}

TEST(Mogrifier, RefusesWhatCannotWork) {
  EXPECT_EQ(refusal({"A", "", "b", ""}),
            "DOG_STATSD_MOGRIFIER_A_PATTERN is missing");
  EXPECT_EQ(refusal({"A", "(a", "b", ""}),
            "DOG_STATSD_MOGRIFIER_A_PATTERN: missing ): (a");
  EXPECT_EQ(refusal({"A", "a", "", ""}),
            "DOG_STATSD_MOGRIFIER_A_NAME is missing");
  EXPECT_EQ(refusal({"A", "(a)", "$2", ""}),
            "DOG_STATSD_MOGRIFIER_A_NAME: $2 is too large: the pattern has 1 "
            "group");
  EXPECT_EQ(refusal({"A", "a", "b", "c:$99999999999999999999"}),
            "DOG_STATSD_MOGRIFIER_A_TAGS: $9 is too large: the pattern has 0 "
            "groups");
  EXPECT_EQ(refusal({"A", "a", "b", "c"}),
            "DOG_STATSD_MOGRIFIER_A_TAGS: 'c' is not NAME:VALUE");
}

// A pattern that takes other engines longer than the age of the universe.
TEST(Mogrifier, TakesNoExponentialTime) {
  const Mogrifier mogrifier({"A", "^(a+)+(a|aa)*(.*b){20}$", "x", ""});
  TaggedName name{std::string(5'000, 'a'), {}};
  EXPECT_FALSE(mogrifier.apply(&name));
}

TEST(Mogrifier, RefusesAPatternThatNeedsTooMuchMemory) {
  EXPECT_EQ(refusal({"A", "((a{100}){100}){100}", "x", ""}).substr(0, 32),
            "DOG_STATSD_MOGRIFIER_A_PATTERN: ");
}

TEST(Mogrifier, WhatItMakesIsBounded) {
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += "$0";
  const Mogrifier mogrifier({"A", "a+", text, ""});
  TaggedName name{std::string(1'000, 'a'), {}};
  EXPECT_TRUE(mogrifier.apply(&name));
  EXPECT_EQ(name.name.size(), 4096u);
}

TEST(Mogrifier, WhatIsTooLongIsCutBetweenCharacters) {
  const Mogrifier mogrifier({"A", ".+", "a$0$0z", ""});
  std::string text;
  for (int i = 0; i < 1'500; ++i) text += "\xC3\xA9";
  TaggedName name{text, {}};
  EXPECT_TRUE(mogrifier.apply(&name));
  EXPECT_EQ(name.name, "a" + text + text.substr(0, 1094));
}

TEST(Mogrifier, TheEndOfTheTextIsPartOfTheBound) {
  const Mogrifier mogrifier({"A", "a+", "$0" + std::string(100, 'z'), ""});
  TaggedName name{std::string(4'000, 'a'), {}};
  EXPECT_TRUE(mogrifier.apply(&name));
  EXPECT_EQ(name.name, std::string(4'000, 'a') + std::string(96, 'z'));
}

}  // namespace
}  // namespace limitree::server
