// The kinds of ids below a node: `key: integer`.  Every kind has one canonical
// form, in which ids are compared, counted and stored.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace limitree {

enum class KeyKind : std::uint8_t {
  kText,     // any bytes, unchanged
  kIp,       // an address, perhaps in networks: nodes.cpp walks these
  kCidr4,    // the IPv4 network of `prefix` bits of an address
  kCidr6,    // the same for IPv6
  kInteger,  // a whole number
  kDomain,   // the registrable domain of a host name
  kFqdnSet,  // host names, "a.example,b.example", in any order
  kHex,      // hexadecimal digits in any case
  kTier,     // the name of a limit; all ids share one bucket
};

struct Key {
  KeyKind kind = KeyKind::kText;
  std::uint8_t prefix = 0;  // of kCidr4 and kCidr6

  friend auto operator<=>(const Key&, const Key&) = default;
};

// Reads the text after `key:`, such as "ip", "cidr6/48" or "integer".  The
// error says what is wrong, such as that this build lacks the kind.
Result<Key> parse_key(std::string_view text);

// "cidr6/48"
std::string key_text(Key key);

// One id in its canonical form.
class CanonicalId {
 public:
  // Returns what is wrong with `id`, such as "is not a whole number", in static
  // storage; null if it is valid.  REQUIRES: `id` outlives *this.
  const char* set(Key key, std::string_view id);

  // The caller's text, if it was canonical already.
  std::string_view view() const { return view_; }

 private:
  const char* set_ip(std::string_view id);
  const char* set_network(Key key, std::string_view id);
  const char* set_integer(std::string_view id);
  const char* set_domain(std::string_view id);
  const char* set_fqdn_set(std::string_view id);
  const char* set_hex(std::string_view id);
  bool set_host_address(std::string_view id);
  char* room(std::size_t size);
  void keep(std::string_view text);

  std::string_view view_;
  std::array<char, 256> room_;  // a host name has 253 bytes at most
  std::string long_;            // longer ids
};

}  // namespace limitree
