// Ids of every kind: which are refused, and the canonical form of the others.

#include "tree/key_kind.hpp"

#include <gtest/gtest.h>

#include <string>

namespace limitree {
namespace {

// The canonical form of `id`, or "! " and what is wrong with it.
std::string as(std::string_view key, const std::string& id) {
  Result<Key> parsed = parse_key(key);
  if (!parsed.ok()) return "? " + parsed.status().error().messages.front();
  CanonicalId canonical;
  if (const char* const wrong = canonical.set(parsed.value(), id)) {
    return std::string("! ") + wrong;
  }
  return std::string(canonical.view());
}

TEST(Key, SaysWhatItIs) {
  for (const char* text : {"text", "ip", "cidr4/24", "cidr6/48", "integer",
                           "domain", "fqdn_set", "hex", "tier"}) {
    Result<Key> key = parse_key(text);
    ASSERT_TRUE(key.ok()) << text;
    EXPECT_EQ(key_text(key.value()), text);
  }
  EXPECT_EQ(key_text(parse_key("cidr4").value()), "cidr4/32");
  EXPECT_EQ(key_text(parse_key("cidr6").value()), "cidr6/64");
}

TEST(Key, RefusesWhatIsNone) {
  const auto wrong = [](std::string_view text) {
    Result<Key> key = parse_key(text);
    return key.ok() ? "" : key.status().error().messages.front();
  };
  EXPECT_EQ(wrong("intger"),
            "unknown key \"intger\", did you mean \"integer\"?");
  EXPECT_EQ(wrong("uuid"),
            "unknown key \"uuid\", known are: text, ip, cidr4/N, cidr6/N, "
            "integer, domain, fqdn_set, hex, tier");
  for (const char* text :
       {"cidr4/0", "cidr4/33", "cidr4/", "cidr4/x", "cidr4/-1", "cidr4/024"}) {
    EXPECT_EQ(wrong(text),
              std::string("key ") + text + " must have a prefix of 1 to 32");
  }
  EXPECT_EQ(wrong("cidr6/129"), "key cidr6/129 must have a prefix of 1 to 128");
}

TEST(CanonicalId, TextIsAsItIs) {
  EXPECT_EQ(as("text", " A\xff*"), " A\xff*");
  EXPECT_EQ(as("text", ""), "");
}

TEST(CanonicalId, WhatIsCanonicalIsNotCopied) {
  for (const auto& [key, id] :
       {std::pair<const char*, std::string>{"ip", "10.0.0.1"},
        {"cidr4/24", "10.0.0.0/24"},
        {"integer", "42"},
        {"domain", "example.com"},
        {"fqdn_set", "a.example,b.example"},
        {"hex", "00ff"}}) {
    CanonicalId canonical;
    ASSERT_EQ(canonical.set(parse_key(key).value(), id), nullptr) << key;
    EXPECT_EQ(canonical.view().data(), id.data()) << key;
    EXPECT_EQ(canonical.view(), id) << key;
  }
}

TEST(CanonicalId, OneObjectTakesOneIdAfterTheOther) {
  const Key hex = parse_key("hex").value();
  const std::string large(1000, 'A');
  CanonicalId canonical;
  ASSERT_EQ(canonical.set(hex, large), nullptr);
  EXPECT_EQ(canonical.view(), std::string(1000, 'a'));
  ASSERT_EQ(canonical.set(hex, "BC"), nullptr);
  EXPECT_EQ(canonical.view(), "bc");
}

TEST(CanonicalId, Ip) {
  EXPECT_EQ(as("ip", "::ffff:10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(as("ip", "64:ff9b::a00:1"), "10.0.0.1");
  EXPECT_EQ(as("ip", "2001:DB8::0:1"), "2001:db8::1");
  EXPECT_EQ(as("ip", "localhost"), "! is not an IP address");
}

TEST(CanonicalId, Cidr4) {
  EXPECT_EQ(as("cidr4/24", "10.1.2.3"), "10.1.2.0/24");
  EXPECT_EQ(as("cidr4/24", "::ffff:10.1.2.3"), "10.1.2.0/24");
  EXPECT_EQ(as("cidr4/24", "64:ff9b::10.1.2.3"), "10.1.2.0/24");
  EXPECT_EQ(as("cidr4/24", "10.1.2.0/24"), "10.1.2.0/24");
  EXPECT_EQ(as("cidr4", "10.1.2.3"), "10.1.2.3/32");
  EXPECT_EQ(as("cidr4/24", "::1"), "! is not an IPv4 address");
  EXPECT_EQ(as("cidr4/24", "::/24"), "! is not an IPv4 address");
  EXPECT_EQ(as("cidr4/24", "10.1.2"), "! is not an IPv4 address");
  EXPECT_EQ(as("cidr4/24", ""), "! is not an IPv4 address");
  EXPECT_EQ(as("cidr4/24", "10.1.2.3/24"),
            "! is not a network: bits are set after its prefix");
  EXPECT_EQ(as("cidr4/24", "10.1.0.0/16"),
            "! is a network of another size than its key says");
}

TEST(CanonicalId, Cidr6) {
  EXPECT_EQ(as("cidr6/48", "2001:db8:1:2:3::4"), "2001:db8:1::/48");
  EXPECT_EQ(as("cidr6", "2001:db8:1:2:3::4"), "2001:db8:1:2::/64");
  EXPECT_EQ(as("cidr6/48", "2001:0DB8:0001::/48"), "2001:db8:1::/48");
  EXPECT_EQ(as("cidr6/48", "10.0.0.1"), "! is not an IPv6 address");
  EXPECT_EQ(as("cidr6/48", "2001:db8::/64"),
            "! is a network of another size than its key says");
}

TEST(CanonicalId, Integer) {
  EXPECT_EQ(as("integer", "12345"), "12345");
  EXPECT_EQ(as("integer", "00012345"), "12345");
  EXPECT_EQ(as("integer", "0"), "0");
  EXPECT_EQ(as("integer", "-0"), "0");
  EXPECT_EQ(as("integer", "000"), "0");
  EXPECT_EQ(as("integer", "-0042"), "-42");
  EXPECT_EQ(as("integer", "-42"), "-42");
  EXPECT_EQ(as("integer", "18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(as("integer", "018446744073709551615"), "18446744073709551615");
  EXPECT_EQ(as("integer", "-9223372036854775808"), "-9223372036854775808");
  for (const char* id : {"18446744073709551616", "-9223372036854775809",
                         "100000000000000000000000"}) {
    EXPECT_EQ(as("integer", id), "! is a number of more than 64 bits");
  }
  for (const char* id : {"", "-", "+1", "1.0", "1e3", " 1", "0x1", "--1"}) {
    EXPECT_EQ(as("integer", id), "! is not a whole number") << id;
  }
}

TEST(CanonicalId, Domain) {
  EXPECT_EQ(as("domain", "example.com"), "example.com");
  EXPECT_EQ(as("domain", "a.b.Example.COM"), "example.com");
  EXPECT_EQ(as("domain", "www.example.com."), "example.com");
  EXPECT_EQ(as("domain", "www.example.co.uk"), "example.co.uk");
  EXPECT_EQ(as("domain", "_dmarc.example.org"), "example.org");
  EXPECT_EQ(as("domain", "xn--bcher-kva.example"), "xn--bcher-kva.example");
  // A public suffix is its own domain.
  EXPECT_EQ(as("domain", "co.uk"), "co.uk");
  EXPECT_EQ(as("domain", "localhost"), "localhost");
  // Private suffixes are suffixes, too: their customers are different.
  EXPECT_EQ(as("domain", "x.alice.github.io"), "alice.github.io");
  EXPECT_EQ(as("domain", "10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(as("domain", "2001:db8::1"), "2001:db8::/64");
  EXPECT_EQ(as("domain", "2001:db8::/64"), "2001:db8::/64");
  for (const std::string& id :
       {std::string(), std::string("."), std::string("a..b"),
        std::string("-a.com"), std::string("a b.com"), std::string("*.a.com"),
        std::string("b\xc3\xbc.de"), std::string("a.1"),
        std::string("10.0.0.0/24"), std::string(64, 'a') + ".com",
        std::string(254, 'a')}) {
    EXPECT_EQ(as("domain", id), "! is not a host name or an IP address") << id;
  }
}

TEST(CanonicalId, FqdnSet) {
  EXPECT_EQ(as("fqdn_set", "b.example,a.example"), "a.example,b.example");
  EXPECT_EQ(as("fqdn_set", "B.example.,a.example,b.EXAMPLE"),
            "a.example,b.example");
  EXPECT_EQ(as("fqdn_set", "example.com,*.Example.com"),
            "*.example.com,example.com");
  EXPECT_EQ(as("fqdn_set", "www.example.com"), "www.example.com");
  EXPECT_EQ(as("fqdn_set", "2001:DB8::1,10.0.0.1,a.example"),
            "10.0.0.1,2001:db8::1,a.example");
  for (const char* id : {"", ",", "a.example,", "a.example, b.example",
                         "*.*.example", "a*.example"}) {
    EXPECT_EQ(as("fqdn_set", id),
              "! is not a list of host names with commas between them")
        << id;
  }
  std::string many;
  for (int i = 99; i >= 10; --i) many += "n" + std::to_string(i) + ".example,";
  const std::string sorted = as("fqdn_set", many + "n00.example");
  EXPECT_TRUE(sorted.starts_with("n00.example,n10.example,n11.example,"));
  EXPECT_EQ(as("fqdn_set", sorted), sorted);
  EXPECT_EQ(as("fqdn_set", std::string(65537, 'a')),
            "! is longer than 65536 bytes");
}

TEST(CanonicalId, Hex) {
  EXPECT_EQ(as("hex", "DEADbeef"), "deadbeef");
  EXPECT_EQ(as("hex", "0"), "0");
  EXPECT_EQ(as("hex", "00Ff"), "00ff");
  for (const char* id : {"", "0x1", "g", "a b"}) {
    EXPECT_EQ(as("hex", id), "! is not hexadecimal") << id;
  }
}

}  // namespace
}  // namespace limitree
