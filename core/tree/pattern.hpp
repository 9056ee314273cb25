// The names of children in limits.yaml: literal, or one for many segments.

#ifndef LIMITREE_TREE_PATTERN_HPP
#define LIMITREE_TREE_PATTERN_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "tree/address.hpp"

namespace limitree {

enum class PatternKind : std::uint8_t {
  kExact,    // "trade": itself
  kNetwork,  // "10.0.0.0/8": every address in it
  kGlob,     // "files*": each * is any bytes, or none
  kAny,      // "*": whatever no other child names
};

// What a child called `name` matches.  An address, a slash and digits make a
// network, even where parse_network() then refuses it.
PatternKind pattern_kind(std::string_view name);

// Reads "10.0.0.0/8".  Fails with what is wrong if the prefix is too long, or
// if bits are set after it.  REQUIRES: pattern_kind(text) == kNetwork.
Result<Network> parse_network(std::string_view text);

// Whether `segment` as a whole matches `glob`.
bool glob_matches(std::string_view glob, std::string_view segment);

// The bytes of `glob` that are not *.
std::size_t literal_size(std::string_view glob);

}  // namespace limitree

#endif  // LIMITREE_TREE_PATTERN_HPP
