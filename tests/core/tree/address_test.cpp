#include "tree/address.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace limitree {
namespace {

std::string canonical(std::string_view text) {
  const std::optional<Address> address = parse_address(text);
  return address ? std::string(AddressText(*address).view()) : "none";
}

TEST(Address, HasOneText) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"0.0.0.0", "0.0.0.0"},
      {"255.255.255.255", "255.255.255.255"},
      {"192.168.1.17", "192.168.1.17"},
      {"::", "::"},
      {"::1", "::1"},
      {"1::", "1::"},
      {"2001:DB8::1", "2001:db8::1"},
      {"2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"},
      {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},  // one group: kept
      {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},           // the longest run
      {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},     // the first of two
      {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
      {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
      {"1:0:0:4:5:6:0:0", "1::4:5:6:0:0"},
      {"1:2:3:4:5:6:0:0", "1:2:3:4:5:6::"},
      {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
       "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
      {"1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"},
      {"::1.2.3.4", "::102:304"},
      {"::ffff:10.0.0.1", "10.0.0.1"},  // IPv4 in IPv6 is IPv4
      {"::FFFF:0a00:0001", "10.0.0.1"},
      {"0:0:0:0:0:ffff:10.0.0.1", "10.0.0.1"},
      {"::ffff:0:0", "0.0.0.0"},
      {"::fffe:10.0.0.1", "::fffe:a00:1"},
      {"64:ff9b::192.0.2.33", "192.0.2.33"},  // what a NAT64 makes of IPv4
      {"64:FF9B::c000:0221", "192.0.2.33"},
      {"0064:ff9b:0:0:0:0:10.0.0.1%lo", "10.0.0.1"},
      {"64:ff9b::", "0.0.0.0"},
      {"64:ff9b:1::192.0.2.33", "64:ff9b:1::c000:221"},  // another prefix
      {"64:ff9b::1:192.0.2.33", "64:ff9b::1:c000:221"},
      {"64:ff9c::192.0.2.33", "64:ff9c::c000:221"},
      {"fe80::1%eth0", "fe80::1"},
      {"fe80::1%25", "fe80::1"},
      {"::ffff:10.0.0.1%lo", "10.0.0.1"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(canonical(text), expected) << text;
    EXPECT_EQ(canonical(canonical(text)), expected) << text;
  }
}

TEST(Address, RefusesWhatIsNone) {
  for (const char* text : {"",
                           " ",
                           "foo",
                           "1",
                           "1.2.3",
                           "1.2.3.4.5",
                           "1.2.3.4.",
                           ".1.2.3.4",
                           "1..2.3",
                           "256.1.1.1",
                           "01.2.3.4",
                           "1.2.3.04",
                           "1.2.3.1000",
                           "0x7f.0.0.1",
                           "1.2.3.4 ",
                           " 1.2.3.4",
                           "1.2.3.4:80",
                           "1.2.3.4/8",
                           "1.2.3.4%eth0",
                           ":",
                           ":::",
                           "1:",
                           ":1",
                           "1::2::3",
                           "::1::",
                           "1:2:3:4:5:6:7",
                           "1:2:3:4:5:6:7:8:9",
                           "1:2:3:4:5:6:7:8::",
                           "1:2:3:4::5:6:7:8",
                           "12345::",
                           "g::",
                           "[::1]",
                           "::1%",
                           "%eth0",
                           "::1.2.3",
                           "::1.2.3.256",
                           "1.2.3.4::",
                           "1:2:3:4:5:6:7:1.2.3.4",
                           "::ffff:1.2.3.4:5",
                           "1:2:3:4:5:6:7:",
                           "-1::",
                           "+1::",
                           "0x1::"}) {
    EXPECT_EQ(canonical(text), "none") << text;
  }
  EXPECT_EQ(canonical(std::string_view("1.2.3.4\0", 8)), "none");
  EXPECT_EQ(canonical(std::string(1 << 20, ':')), "none");
  EXPECT_EQ(canonical(std::string(1 << 20, '1')), "none");
}

TEST(Address, IsMaskedFromTheLeft) {
  const auto mask = [](std::string_view text, int prefix) {
    return std::string(
        AddressText(masked(*parse_address(text), prefix)).view());
  };
  EXPECT_EQ(mask("255.255.255.255", 0), "0.0.0.0");
  EXPECT_EQ(mask("255.255.255.255", 9), "255.128.0.0");
  EXPECT_EQ(mask("255.255.255.255", 32), "255.255.255.255");
  const std::string ones = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
  EXPECT_EQ(mask(ones, 0), "::");
  EXPECT_EQ(mask(ones, 1), "8000::");
  EXPECT_EQ(mask(ones, 63), "ffff:ffff:ffff:fffe::");
  EXPECT_EQ(mask(ones, 64), "ffff:ffff:ffff:ffff::");
  EXPECT_EQ(mask(ones, 65), "ffff:ffff:ffff:ffff:8000::");
  EXPECT_EQ(mask(ones, 128), ones);
}

TEST(Network, ContainsItsAddressesOfItsFamily) {
  const Network v4{*parse_address("10.0.0.0"), 8};
  EXPECT_TRUE(v4.contains(*parse_address("10.255.0.1")));
  EXPECT_FALSE(v4.contains(*parse_address("11.0.0.0")));
  EXPECT_TRUE(v4.contains(*parse_address("::ffff:10.1.1.1")));
  EXPECT_TRUE(v4.contains(*parse_address("64:ff9b::10.1.1.1")));
  const Network all{*parse_address("::"), 0};
  EXPECT_TRUE(all.contains(*parse_address("2001:db8::1")));
  EXPECT_FALSE(all.contains(*parse_address("10.0.0.1")));
  EXPECT_EQ(AddressText(v4).view(), "10.0.0.0/8");
  EXPECT_EQ(AddressText(Network{*parse_address(
                                    "1111:2222:3333:4444:5555:6666:7777:8888"),
                                128})
                .view(),
            "1111:2222:3333:4444:5555:6666:7777:8888/128");
}

}  // namespace
}  // namespace limitree
