// The header in which proxies name their clients: its entries, last first.

#ifndef LIMITREE_TREE_FORWARDED_HPP
#define LIMITREE_TREE_FORWARDED_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tree/address.hpp"

namespace limitree {

// The format of the header.
enum class ForwardedSyntax : std::uint8_t {
  kList,       // X-Forwarded-For: 203.0.113.7, 10.0.0.1
  kForwarded,  // RFC 7239: for=203.0.113.7;proto=https, for="[2001:db8::1]:80"
};

// Reads an address as servers and proxies write it: alone, with a port, or in
// brackets.  "unknown" and "_hidden" are not addresses.
std::optional<Address> parse_endpoint(std::string_view text);

// Goes through the entries from the right, where the nearest proxies have
// written theirs.  Text from the client is further left, so even an open quote
// in it cannot change how these entries are read.
class ForwardedEntries {
 public:
  // `lines` are the values of the header, in the order of the request.  They
  // are borrowed.
  ForwardedEntries(std::span<const std::string_view> lines,
                   ForwardedSyntax syntax)
      : lines_(lines), syntax_(syntax) {}

  // Takes the last entry that is left: the text of an address, or other text.
  // Returns nothing if no entry is left.
  std::optional<std::string_view> take();

 private:
  std::string_view take_element();

  std::span<const std::string_view> lines_;  // after the current one
  std::string_view line_;                    // the rest of the current one
  ForwardedSyntax syntax_;
};

}  // namespace limitree

#endif  // LIMITREE_TREE_FORWARDED_HPP
