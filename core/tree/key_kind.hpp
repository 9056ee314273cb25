// What the ids below a node are: `key: integer`.  Each kind has one form in
// which an id is compared, counted and stored, however a caller writes it.

#ifndef LIMITREE_TREE_KEY_KIND_HPP
#define LIMITREE_TREE_KEY_KIND_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace limitree {

enum class KeyKind : std::uint8_t {
  kText,     // any bytes, as they are
  kIp,       // an address, which may lie in networks: nodes.cpp walks these
  kCidr4,    // the IPv4 network of `prefix` bits that an address lies in
  kCidr6,    // the same for IPv6
  kInteger,  // a whole number
  kDomain,   // the registrable domain that a host name belongs to
  kFqdnSet,  // host names, "a.example,b.example", in any order
  kHex,      // hexadecimal digits in either case
};

struct Key {
  KeyKind kind = KeyKind::kText;
  std::uint8_t prefix = 0;  // of kCidr4 and kCidr6

  friend auto operator<=>(const Key&, const Key&) = default;
};

// Reads what stands after `key:`, such as "ip", "cidr6/48" or "integer".  Fails
// with what is wrong, also if this build cannot do it.
Result<Key> parse_key(std::string_view text);

// "cidr6/48"
std::string key_text(Key key);

// One id in its canonical form.
class CanonicalId {
 public:
  // Returns what is wrong with `id`, "is not a whole number", in static
  // storage; null if nothing is.  REQUIRES: `id` outlives *this.
  const char* set(Key key, std::string_view id);

  // The id as it was passed, where that was canonical already.
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
  std::string long_;            // of what does not fit there
};

}  // namespace limitree

#endif  // LIMITREE_TREE_KEY_KIND_HPP
