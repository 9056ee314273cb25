#include "tree/forwarded.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace limitree {
namespace {

std::string read(std::string_view text) {
  const std::optional<Address> address = parse_endpoint(text);
  return address ? std::string(AddressText(*address).view()) : "none";
}

TEST(Endpoint, IsReadAsProxiesWriteIt) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"192.0.2.1", "192.0.2.1"},
      {" \t192.0.2.1 ", "192.0.2.1"},
      {"192.0.2.1:0", "192.0.2.1"},
      {" 192.0.2.1:80 ", "192.0.2.1"},
      {"192.0.2.1:65535", "192.0.2.1"},
      {"2001:DB8::1", "2001:db8::1"},
      {"[2001:db8::1]", "2001:db8::1"},
      {"[2001:db8::1]:443", "2001:db8::1"},
      {"[fe80::1%eth0]:443", "fe80::1"},
      {"fe80::1%eth0", "fe80::1"},
      {"::ffff:192.0.2.1", "192.0.2.1"},
      {"[::ffff:192.0.2.1]:80", "192.0.2.1"},
      {"64:ff9b::192.0.2.1", "192.0.2.1"},
      {"[64:ff9b::192.0.2.1]:80", "192.0.2.1"},
      {"::1", "::1"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(read(text), expected) << text;
  }
}

TEST(Endpoint, IsNothingElse) {
  for (const char* text : {"",
                           " ",
                           "unknown",
                           "_hidden",
                           "localhost",
                           "192.0.2.1:",
                           ":80",
                           "192.0.2.1:http",
                           "192.0.2.1:123456",
                           "192.0.2.1:-1",
                           "[192.0.2.1]",
                           "[192.0.2.1]:80",
                           "[2001:db8::1",
                           "2001:db8::1]",
                           "[]",
                           "[]:80",
                           "[2001:db8::1]80",
                           "[2001:db8::1]:",
                           "[2001:db8::1]:x",
                           "[[::1]]",
                           "\"192.0.2.1\"",
                           "192.0.2.1 192.0.2.2",
                           "192.0.2.1/32"}) {
    EXPECT_EQ(read(text), "none") << text;
  }
  EXPECT_EQ(read(std::string_view("192.0.2.1\0", 10)), "none");
}

std::vector<std::string> entries(std::vector<std::string_view> lines,
                                 ForwardedSyntax syntax) {
  ForwardedEntries walk(lines, syntax);
  std::vector<std::string> taken;
  while (const std::optional<std::string_view> entry = walk.take()) {
    taken.emplace_back(*entry);
  }
  EXPECT_FALSE(walk.take());
  return taken;
}

using Texts = std::vector<std::string>;

TEST(ForwardedEntries, OfAListComeFromTheRight) {
  const auto list = [](std::vector<std::string_view> lines) {
    return entries(std::move(lines), ForwardedSyntax::kList);
  };
  EXPECT_EQ(list({}), Texts());
  EXPECT_EQ(list({""}), Texts());
  EXPECT_EQ(list({" , ,, "}), Texts());
  EXPECT_EQ(list({"a"}), Texts({"a"}));
  EXPECT_EQ(list({"a, b ,\tc"}), Texts({"c", "b", "a"}));
  EXPECT_EQ(list({",a,,b,"}), Texts({"b", "a"}));
  // Several lines are one list, as in RFC 9110.
  EXPECT_EQ(list({"a, b", "", "c", "d, e"}), Texts({"e", "d", "c", "b", "a"}));
  EXPECT_EQ(list({"a\", b"}), Texts({"b", "a\""}));  // quotes mean nothing
}

TEST(ForwardedEntries, OfRfc7239AreTheirFor) {
  const auto forwarded = [](std::vector<std::string_view> lines) {
    return entries(std::move(lines), ForwardedSyntax::kForwarded);
  };
  EXPECT_EQ(forwarded({}), Texts());
  EXPECT_EQ(forwarded({"for=192.0.2.60;proto=http;by=203.0.113.43"}),
            Texts({"192.0.2.60"}));
  EXPECT_EQ(forwarded({"For=\"[2001:db8:cafe::17]:4711\""}),
            Texts({"[2001:db8:cafe::17]:4711"}));
  EXPECT_EQ(forwarded({"proto=http; FOR=192.0.2.1 , for=198.51.100.17"}),
            Texts({"198.51.100.17", "192.0.2.1"}));
  EXPECT_EQ(forwarded({"for=a;host=\"x, for=b;y\"", "for=c"}),
            Texts({"c", "a"}));
  EXPECT_EQ(forwarded({"for=a;host=\"\\\", for=b\""}), Texts({"a"}));
  EXPECT_EQ(forwarded({"for=a;host=\"\\\\\", for=b"}), Texts({"b", "a"}));
  // Missing, twice, or malformed: an entry, but not an address.
  EXPECT_EQ(forwarded({"proto=http"}), Texts({""}));
  EXPECT_EQ(forwarded({"for=a;for=b"}), Texts({""}));
  EXPECT_EQ(forwarded({"for = a"}), Texts({""}));
  EXPECT_EQ(forwarded({"for=\""}), Texts({"\""}));
  EXPECT_EQ(forwarded({"192.0.2.1"}), Texts({""}));
}

// Whatever is on the left, the proxy's own entry is taken first.
TEST(ForwardedEntries, AreNotHiddenByWhatAClientHasWritten) {
  for (const std::string attack :
       {"for=\"", "\"", "\\", "\\\"", "for=\"x\\", ";", "for=\"a, \"\"",
        "\"\"\"", ",\"", "for=a;for=\"b"}) {
    const std::string line = attack + ", for=192.0.2.1;proto=https";
    std::vector<std::string_view> lines = {line};
    ForwardedEntries walk(lines, ForwardedSyntax::kForwarded);
    EXPECT_EQ(walk.take(), "192.0.2.1") << attack;
  }
}

}  // namespace
}  // namespace limitree
