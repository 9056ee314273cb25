// IP addresses and networks: reading them, and writing them in one form.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace limitree {

// An IPv4 or IPv6 address.  The bits start at the left, so that the bits of a
// network come first in both families.
struct Address {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool v6 = false;

  int bits() const { return v6 ? 128 : 32; }

  friend auto operator<=>(const Address&, const Address&) = default;
};

// The first `prefix` bits of `address`, followed by zeros.
// REQUIRES: 0 <= prefix <= address.bits().
Address masked(const Address& address, int prefix);

// Reads "10.0.0.1", "2001:db8::1", "::ffff:10.0.0.1" and "64:ff9b::10.0.0.1"
// (both are 10.0.0.1), and "fe80::1%eth0" (which is fe80::1).  Refuses leading
// zeros in IPv4, brackets, ports and blanks.
std::optional<Address> parse_address(std::string_view text);

// A network: "10.0.0.0/8", "2001:db8::/32".
struct Network {
  Address address;  // zeros after the prefix, once checked
  int prefix = 0;

  bool contains(const Address& other) const {
    return other.v6 == address.v6 && masked(other, prefix) == address;
  }

  friend auto operator<=>(const Network&, const Network&) = default;
};

// The text of an address or a network, without an allocation.
class AddressText {
 public:
  // In the form of RFC 5952: lower case, the longest run of zeros left out.
  explicit AddressText(const Address& address);
  explicit AddressText(const Network& network);

  std::string_view view() const { return {text_.data(), size_}; }

 private:
  void append(char c) { text_[size_++] = c; }
  void append_number(unsigned value, unsigned base);
  void append_v6(const Address& address);

  std::array<char, 48> text_;  // 39 for eight groups, 4 for "/128"
  std::size_t size_ = 0;
};

}  // namespace limitree
