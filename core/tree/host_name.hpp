// Host names: what may be one, and which domain of somebody it belongs to.

#ifndef LIMITREE_TREE_HOST_NAME_HPP
#define LIMITREE_TREE_HOST_NAME_HPP

#include <cstddef>
#include <string_view>

namespace limitree {

inline constexpr std::size_t kMaxHostName = 253;  // bytes

// Writes `name` in lower case and without a dot at its end to `out`, which has
// room for kMaxHostName bytes and a terminator; returns the bytes written.  0
// if it is no host name: letters, digits, - and _ in labels of 1 to 63 bytes,
// and a last label that is no number.
std::size_t lower_host_name(std::string_view name, char* out);

// Whether registrable_domain() can be asked: it needs libpsl.
bool knows_public_suffixes();

// The registrable domain of "www.example.co.uk", "example.co.uk": what the
// Public Suffix List calls a suffix, and one label more.  A name that is a
// suffix itself stands for itself.
// REQUIRES: knows_public_suffixes(); lower_host_name() made `name`, which ends
// with a terminator.
std::string_view registrable_domain(const char* name);

}  // namespace limitree

#endif  // LIMITREE_TREE_HOST_NAME_HPP
