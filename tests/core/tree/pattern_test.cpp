#include "tree/pattern.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace limitree {
namespace {

TEST(PatternKind, OfEachName) {
  const std::vector<std::pair<std::string, PatternKind>> cases = {
      {"*", PatternKind::kAny},
      {"**", PatternKind::kGlob},
      {"files*", PatternKind::kGlob},
      {"10.*/8", PatternKind::kGlob},
      {"trade", PatternKind::kExact},
      {"", PatternKind::kExact},
      {"10.0.0.1", PatternKind::kExact},
      {"10.0.0.0/", PatternKind::kExact},
      {"10.0.0.0/8x", PatternKind::kExact},
      {"10.0.0/8", PatternKind::kExact},
      {"files/8", PatternKind::kExact},
      {"10.0.0.0/1000", PatternKind::kExact},
      {"10.0.0.0/8", PatternKind::kNetwork},
      {"10.0.0.1/99", PatternKind::kNetwork},
      {"2001:db8::/32", PatternKind::kNetwork},
  };
  for (const auto& [name, expected] : cases) {
    EXPECT_EQ(pattern_kind(name), expected) << name;
  }
}

std::string read_network(std::string_view text) {
  Result<Network> network = parse_network(text);
  return network.ok() ? std::string(AddressText(network.value()).view())
                      : network.status().error().messages.front();
}

TEST(ParseNetwork, IsCanonical) {
  EXPECT_EQ(read_network("10.0.0.0/8"), "10.0.0.0/8");
  EXPECT_EQ(read_network("0.0.0.0/0"), "0.0.0.0/0");
  EXPECT_EQ(read_network("10.0.0.1/32"), "10.0.0.1/32");
  EXPECT_EQ(read_network("2001:DB8:0::/32"), "2001:db8::/32");
  EXPECT_EQ(read_network("::ffff:10.0.0.0/104"), "10.0.0.0/8");
  EXPECT_EQ(read_network("64:ff9b::10.0.0.0/104"), "10.0.0.0/8");
  EXPECT_EQ(read_network("::/0"), "::/0");
}

TEST(ParseNetwork, SaysWhatIsRight) {
  EXPECT_EQ(read_network("10.0.0.1/8"),
            "\"10.0.0.1/8\" has bits set after the prefix, did you mean "
            "\"10.0.0.0/8\"?");
  EXPECT_EQ(read_network("10.0.0.0/33"),
            "the prefix of \"10.0.0.0/33\" must be 0 to 32");
  EXPECT_EQ(read_network("::/129"),
            "the prefix of \"::/129\" must be 0 to 128");
  EXPECT_EQ(read_network("::ffff:10.0.0.0/95"),
            "the prefix of \"::ffff:10.0.0.0/95\" must be 96 to 128");
  EXPECT_EQ(read_network("64:ff9b::/64"),
            "the prefix of \"64:ff9b::/64\" must be 96 to 128");
}

}  // namespace
}  // namespace limitree
