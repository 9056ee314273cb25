// The keys of a file of descriptors, and where each of them belongs.

#ifndef LIMITREE_DESCRIPTORS_KNOWN_KEYS_HPP
#define LIMITREE_DESCRIPTORS_KNOWN_KEYS_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace limitree {

// The mappings of a file, as bits.
enum class KeyPlace : std::uint8_t {
  kRoot = 1,
  kDescriptor = 2,
  kRateLimit = 4,
  kReplaces = 8,  // an entry of `replaces`
};

// What is wrong with `key` in `place`; empty: nothing.
std::string wrong_key(std::string_view key, KeyPlace place);

}  // namespace limitree

#endif  // LIMITREE_DESCRIPTORS_KNOWN_KEYS_HPP
