#include "base/key.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/plan.hpp"

namespace limitree {
namespace {

using Kind = Segment::Kind;

std::string escaped(std::string_view text, Kind kind = Kind::kCaller) {
  std::string name;
  append_segment({text, kind}, &name);
  return name;
}

std::string name_of(const std::vector<Segment>& segments,
                    std::string_view suffix = "") {
  Limit limit;
  limit.suffix = suffix;
  Plan plan(Operation::kPeek);
  for (const Segment& segment : segments) plan.segments.push_back(segment);
  plan.add_level(&limit, 0, static_cast<std::uint32_t>(segments.size()), 1);
  return bucket_name(plan, plan.levels[0]);
}

TEST(AppendSegment, EscapesWhatIsNotPlain) {
  EXPECT_EQ(escaped("alex"), "alex");
  EXPECT_EQ(escaped("a/b.c-d_e@f\"\\"), "a/b.c-d_e@f\"\\");
  EXPECT_EQ(escaped("%:{}#* "), "%25%3A%7B%7D%23%2A%20");
  EXPECT_EQ(escaped(std::string_view("\0\n\x1f\x7f", 4)), "%00%0A%1F%7F");
  EXPECT_EQ(escaped("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(escaped("\xff\xc3!"), "%FF%C3%21");
  EXPECT_EQ(escaped("\xed\xa0\x80"), "%ED%A0%80");
  EXPECT_EQ(escaped(""), "%");
  EXPECT_EQ(escaped("~a~"), "%7Ea~");
}

TEST(AppendSegment, TellsAPatternFromItsText) {
  EXPECT_EQ(escaped("files*", Kind::kPattern), "files*");
  EXPECT_EQ(escaped("files*", Kind::kCaller), "files%2A");
  EXPECT_EQ(escaped("files*", Kind::kExact), "files%2A");
  EXPECT_EQ(escaped("10.0.0.0/8", Kind::kPattern), "10.0.0.0/8");
}

TEST(AppendSegment, HashesWhatIsLong) {
  EXPECT_EQ(escaped(std::string(200, 'a')), std::string(200, 'a'));
  EXPECT_EQ(
      escaped(std::string(201, 'a')),
      "~a92efd82109373e58f9a2056dee01e807e216ce6075f7051207c0a9f7d666e50");
  EXPECT_EQ(escaped(std::string(1 << 20, '\xff')).size(), 65U);
  // A caller cannot choose a name that is the hash of another, or a pattern's.
  EXPECT_NE(escaped(escaped(std::string(201, 'a'))),
            escaped(std::string(201, 'a')));
  EXPECT_NE(escaped(std::string(201, '*'), Kind::kPattern),
            escaped(std::string(201, '*')));
}

TEST(BucketName, JoinsSegmentsAndSuffix) {
  EXPECT_EQ(name_of({{"user", Kind::kExact}}), "user");
  EXPECT_EQ(name_of({{"user", Kind::kExact},
                     {"a:b", Kind::kCaller},
                     {"trade", Kind::kExact}},
                    "#daily"),
            "user:a%3Ab:trade#daily");
}

TEST(BucketName, TakesTheLevelsOwnSegments) {
  Limit limit;
  Plan plan(Operation::kPeek);
  for (const char* text : {"ip", "10.0.0.1", "user", "alex", "trade"}) {
    plan.segments.push_back({text, Kind::kCaller});
  }
  plan.add_level(&limit, 2, 2, 1);
  EXPECT_EQ(bucket_name(plan, plan.levels[0]), "user:alex");
}

// Distinct paths have distinct names, whatever their bytes.
TEST(BucketName, IsInjective) {
  std::mt19937 random(7);
  // Few letters, so that many paths are similar: escaped bytes, the characters
  // of an escape, and parts of characters.
  const std::string letters("a~%:#*25A{} \xc3\xa9\xff\0", 17);
  std::map<std::string, std::vector<std::string>> seen;
  for (int i = 0; i < 200'000; ++i) {
    std::vector<std::string> path(1 + random() % 3);
    for (std::string& segment : path) {
      for (std::size_t n = random() % 4; n > 0; --n) {
        segment += letters[random() % letters.size()];
      }
      if (random() % 50 == 0) segment += std::string(200, 'x');
    }
    std::vector<Segment> segments;
    for (const std::string& segment : path) {
      segments.push_back({segment, Kind::kCaller});
    }
    const auto [place, added] = seen.emplace(name_of(segments), path);
    ASSERT_EQ(place->second, path) << place->first;
  }
  EXPECT_GT(seen.size(), 50'000U);
}

}  // namespace
}  // namespace limitree
