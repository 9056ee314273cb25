// The header by which proxies say whom they speak for: its entries, last first.

#ifndef LIMITREE_TREE_FORWARDED_HPP
#define LIMITREE_TREE_FORWARDED_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tree/address.hpp"

namespace limitree {

// How the header is written.
enum class ForwardedSyntax : std::uint8_t {
  kList,       // X-Forwarded-For: 203.0.113.7, 10.0.0.1
  kForwarded,  // RFC 7239: for=203.0.113.7;proto=https, for="[2001:db8::1]:80"
};

// Reads an address as servers and proxies write it: alone, with a port, in
// brackets.  "unknown" and "_hidden" are none.
std::optional<Address> parse_endpoint(std::string_view text);

// Goes through the entries from the right, for there stand those of the
// proxies nearest to us: whatever a client has written lies to the left, an
// open quote included, and cannot change how these are read.
class ForwardedEntries {
 public:
  // `lines` are the values of the header, in the order of the request; they are
  // borrowed.
  ForwardedEntries(std::span<const std::string_view> lines,
                   ForwardedSyntax syntax)
      : lines_(lines), syntax_(syntax) {}

  // Takes the last entry that has not been taken: the text of an address, or of
  // something that is none.  Nothing: there was no other.
  std::optional<std::string_view> take();

 private:
  std::string_view take_element();

  std::span<const std::string_view> lines_;  // after the one that is read
  std::string_view line_;                    // what is left of that one
  ForwardedSyntax syntax_;
};

}  // namespace limitree

#endif  // LIMITREE_TREE_FORWARDED_HPP
