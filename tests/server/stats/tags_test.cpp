#include <gtest/gtest.h>

#include "io/failure.hpp"
#include "stats/mogrifier.hpp"

namespace limitree::server {
namespace {

std::string refusal(std::string_view text) {
  try {
    parse_tags("EXTRA_TAGS", text);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(Tags, AreSortedByName) {
  EXPECT_EQ(parse_tags("X", "zone:a,app:b"),
            (std::vector<Tag>{{"app", "b"}, {"zone", "a"}}));
  EXPECT_TRUE(parse_tags("X", "").empty());
}

TEST(Tags, MustBePairs) {
  EXPECT_EQ(refusal("zone"), "EXTRA_TAGS: 'zone' is not NAME:VALUE");
  EXPECT_EQ(refusal("a:b,"), "");
  EXPECT_EQ(refusal("a:b,,c:d"), "EXTRA_TAGS: '' is not NAME:VALUE");
  EXPECT_EQ(refusal(":b"), "EXTRA_TAGS: ':b' is not NAME:VALUE");
  EXPECT_EQ(refusal("a:"), "EXTRA_TAGS: 'a:' is not NAME:VALUE");
  EXPECT_EQ(refusal("a:b:c"), "EXTRA_TAGS: 'a:b:c' is not NAME:VALUE");
}

TEST(Tags, AreThereOnce) {
  EXPECT_EQ(refusal("a:b,a:c"), "EXTRA_TAGS: 'a' is there twice");
}

}  // namespace
}  // namespace limitree::server
