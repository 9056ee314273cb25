// The names of children in limits.yaml: literal names, and patterns.

#pragma once

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

// What a child called `name` matches.  An address, a slash and digits are a
// network, even if parse_network() refuses it afterwards.
PatternKind pattern_kind(std::string_view name);

// Reads "10.0.0.0/8".  Fails if the prefix is too long, or if bits are set
// after it.  REQUIRES: pattern_kind(text) == kNetwork.
Result<Network> parse_network(std::string_view text);

}  // namespace limitree
