#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tree/forwarded.hpp"

namespace limitree {
namespace {

using Lines = std::vector<std::string_view>;

Result<Proxies> make(std::int32_t hops, Lines networks = {},
                     ForwardedSyntax syntax = ForwardedSyntax::kList,
                     std::int32_t ipv6_prefix = 128) {
  return Proxies::make(hops, networks, syntax, ipv6_prefix);
}

Proxies by_networks(Lines networks) { return make(0, networks).value(); }
Proxies by_hops(std::int32_t hops) { return make(hops).value(); }

// The client, and the number of trusted entries: "192.0.2.1 after 2".
std::string client(const Proxies& proxies, std::string_view peer,
                   const Lines& lines) {
  const std::optional<Proxies::Client> found = proxies.client(peer, lines);
  if (!found) return "none";
  return std::string(AddressText(found->address).view()) + " after " +
         std::to_string(found->believed);
}

std::string refusal(Result<Proxies> result) {
  return result.ok() ? "accepted" : result.status().error().messages.front();
}

TEST(Proxies, TrustNobodyByDefault) {
  const Lines spoofed = {"192.0.2.1, 10.0.0.1"};
  EXPECT_EQ(client(Proxies(), "198.51.100.9", spoofed), "198.51.100.9 after 0");
  EXPECT_EQ(client(by_hops(0), "127.0.0.1", spoofed), "127.0.0.1 after 0");
  EXPECT_EQ(client(Proxies(), "[::ffff:198.51.100.9]:1234", {}),
            "198.51.100.9 after 0");
}

TEST(Proxies, AreFollowedOnlyWhileTrusted) {
  const Proxies proxies = by_networks({"10.0.0.0/8", "192.0.2.7", "fd00::/8"});
  EXPECT_EQ(client(proxies, "10.0.0.1", {"203.0.113.5"}),
            "203.0.113.5 after 1");
  EXPECT_EQ(client(proxies, "10.0.0.1", {"203.0.113.5, 192.0.2.7, fd00::1"}),
            "203.0.113.5 after 3");
  // Entries that the client wrote itself come after the client.
  EXPECT_EQ(client(proxies, "10.0.0.1", {"10.9.9.9, 1.1.1.1, 203.0.113.5"}),
            "203.0.113.5 after 1");
  EXPECT_EQ(client(proxies, "10.0.0.1", {"1.1.1.1", "203.0.113.5"}),
            "203.0.113.5 after 1");
  // Not through a proxy at all.
  EXPECT_EQ(client(proxies, "203.0.113.5", {"1.1.1.1"}), "203.0.113.5 after 0");
  EXPECT_EQ(client(proxies, "192.0.2.8", {"1.1.1.1"}), "192.0.2.8 after 0");
  // From one proxy to another: the last one is the client.
  EXPECT_EQ(client(proxies, "10.0.0.1", {"10.0.0.3, 10.0.0.2"}),
            "10.0.0.3 after 2");
  EXPECT_EQ(client(proxies, "10.0.0.1", {}), "10.0.0.1 after 0");
  EXPECT_EQ(client(proxies, "10.0.0.1", {" , "}), "10.0.0.1 after 0");
}

TEST(Proxies, AreFoundInEitherNotation) {
  EXPECT_EQ(client(by_networks({"10.0.0.0/8"}), "::ffff:10.0.0.1",
                   {"[2001:DB8::5]:443"}),
            "2001:db8::5 after 1");
  EXPECT_EQ(client(by_networks({"::ffff:10.0.0.0/104"}), "10.0.0.1",
                   {"203.0.113.5:1234"}),
            "203.0.113.5 after 1");
  EXPECT_EQ(client(by_networks({"10.0.0.0/8"}), "64:ff9b::10.0.0.1",
                   {"64:ff9b::203.0.113.5"}),
            "203.0.113.5 after 1");
  EXPECT_EQ(client(by_networks({"fe80::1"}), "fe80::1%eth0", {"203.0.113.5"}),
            "203.0.113.5 after 1");
}

TEST(Proxies, StopAtWhatIsNoAddress) {
  const Proxies networks = by_networks({"10.0.0.0/8"});
  for (const std::string garbage :
       {"unknown", "_hidden", "203.0.113.5 x", "203.0.113.256", "a\"b", "-",
        "\xff\xfe", "[203.0.113.5]"}) {
    const std::string last = "203.0.113.5, " + garbage;
    EXPECT_EQ(client(networks, "10.0.0.1", {last}), "10.0.0.1 after 0");
    EXPECT_EQ(client(by_hops(2), "10.0.0.1", {last}), "10.0.0.1 after 0");
    const std::string middle = "203.0.113.5, " + garbage + ", 10.0.0.2";
    EXPECT_EQ(client(networks, "10.0.0.1", {middle}), "10.0.0.2 after 1");
    // Text to the left of the client does not matter.
    const std::string first = garbage + ", 203.0.113.5";
    EXPECT_EQ(client(networks, "10.0.0.1", {first}), "203.0.113.5 after 1");
    EXPECT_EQ(client(by_hops(1), "10.0.0.1", {first}), "203.0.113.5 after 1");
  }
}

TEST(Proxies, AreCounted) {
  const Lines lines = {"1.1.1.1, 203.0.113.5, 198.51.100.9"};
  EXPECT_EQ(client(by_hops(1), "10.0.0.1", lines), "198.51.100.9 after 1");
  EXPECT_EQ(client(by_hops(2), "10.0.0.1", lines), "203.0.113.5 after 2");
  EXPECT_EQ(client(by_hops(3), "10.0.0.1", lines), "1.1.1.1 after 3");
  EXPECT_EQ(client(by_hops(100), "10.0.0.1", lines), "1.1.1.1 after 3");
}

TEST(Proxies, MayHaveNoAddress) {
  const Lines lines = {"203.0.113.5"};
  EXPECT_EQ(client(by_networks({"unix"}), "", lines), "203.0.113.5 after 1");
  EXPECT_EQ(client(by_networks({"unix", "203.0.113.0/24"}), "",
                   {"2001:db8::1, 203.0.113.5"}),
            "2001:db8::1 after 2");
  EXPECT_EQ(client(by_hops(1), "", lines), "203.0.113.5 after 1");
  // No entry names the client.
  EXPECT_EQ(client(by_networks({"unix"}), "", {}), "none");
  EXPECT_EQ(client(by_networks({"unix"}), "", {"unknown"}), "none");
  EXPECT_EQ(client(by_networks({"10.0.0.0/8"}), "", lines), "none");
  EXPECT_EQ(client(Proxies(), "", lines), "none");
  // Not a socket of this machine, whatever it is.
  EXPECT_EQ(client(by_networks({"unix"}), "testclient", lines), "none");
  EXPECT_EQ(client(by_hops(1), "testclient", lines), "none");
}

TEST(Proxies, ReadTheirOwnHeader) {
  const Proxies proxies =
      make(0, {"10.0.0.0/8"}, ForwardedSyntax::kForwarded).value();
  EXPECT_EQ(client(proxies, "10.0.0.1",
                   {"for=1.1.1.1, for=\"[2001:db8::7]:99\";proto=https",
                    "for=10.0.0.2"}),
            "2001:db8::7 after 2");
  EXPECT_EQ(client(proxies, "10.0.0.1", {"for=_hidden"}), "10.0.0.1 after 0");
  EXPECT_EQ(client(proxies, "10.0.0.1", {"203.0.113.5"}), "10.0.0.1 after 0");
}

TEST(Proxies, GroupIpv6AfterTheWalk) {
  const Proxies proxies =
      make(0, {"2001:db8:1:2::1"}, ForwardedSyntax::kList, 64).value();
  EXPECT_EQ(client(proxies, "2001:db8:1:2::1", {"2001:db8:1:2::9"}),
            "2001:db8:1:2:: after 1");
  EXPECT_EQ(client(proxies, "2001:db8:1:2::1", {"203.0.113.5"}),
            "203.0.113.5 after 1");
}

TEST(Proxies, RefuseWhatCannotBe) {
  EXPECT_EQ(refusal(make(-1)), "trusted_hops must be 0 to 100, is -1");
  EXPECT_EQ(refusal(make(101)), "trusted_hops must be 0 to 100, is 101");
  EXPECT_EQ(refusal(make(1, {"10.0.0.0/8"})),
            "trusted_hops and trusted_proxies exclude each other");
  EXPECT_EQ(refusal(make(0, {"10.0.0.0/8", "proxy"})),
            "trusted_proxies[1]: \"proxy\" is neither an IP address nor a "
            "network");
  EXPECT_EQ(refusal(make(0, {"10.0.0.1/8"})),
            "trusted_proxies[0]: \"10.0.0.1/8\" has bits set after the prefix, "
            "did you mean \"10.0.0.0/8\"?");
  EXPECT_EQ(refusal(make(0, {"10.0.0.0/33"})),
            "trusted_proxies[0]: the prefix of \"10.0.0.0/33\" must be 0 to "
            "32");
  EXPECT_EQ(refusal(make(0, {""})),
            "trusted_proxies[0]: \"\" is neither an IP address nor a network");
  EXPECT_EQ(refusal(make(0, {}, ForwardedSyntax::kList, 0)),
            "ipv6_prefix must be 1 to 128, is 0");
  EXPECT_EQ(refusal(make(0, {}, ForwardedSyntax::kList, 129)),
            "ipv6_prefix must be 1 to 128, is 129");
  EXPECT_EQ(refusal(make(0, {"0.0.0.0/0", "::/0"})), "accepted");
}

}  // namespace
}  // namespace limitree
