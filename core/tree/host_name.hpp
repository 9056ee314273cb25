// Host names: which are valid, and the registrable domain of a name.

#ifndef LIMITREE_TREE_HOST_NAME_HPP
#define LIMITREE_TREE_HOST_NAME_HPP

#include <cstddef>
#include <string_view>

namespace limitree {

inline constexpr std::size_t kMaxHostName = 253;  // bytes

// Writes `name` to `out`, in lower case and without a dot at its end.  `out`
// has room for kMaxHostName bytes and a terminator.  Returns the bytes written,
// or 0 if `name` is not a host name: letters, digits, - and _ in labels of 1 to
// 63 bytes, and a last label that is not a number.
std::size_t lower_host_name(std::string_view name, char* out);

// Whether this build has registrable_domain(): it needs libpsl.
bool knows_public_suffixes();

// Returns the registrable domain: "example.co.uk" for "www.example.co.uk".
// That is a suffix of the Public Suffix List and one label more.  A name that
// is a suffix is its own domain.
// REQUIRES: knows_public_suffixes(), and lower_host_name() made `name`.
std::string_view registrable_domain(const char* name);

}  // namespace limitree

#endif  // LIMITREE_TREE_HOST_NAME_HPP
