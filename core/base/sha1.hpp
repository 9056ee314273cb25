// SHA-1 (FIPS 180-4), by which Redis names scripts.  It protects nothing.

#ifndef LIMITREE_BASE_SHA1_HPP
#define LIMITREE_BASE_SHA1_HPP

#include <string>
#include <string_view>

namespace limitree {

// As 40 hexadecimal digits.
std::string sha1_hex(std::string_view text);

}  // namespace limitree

#endif  // LIMITREE_BASE_SHA1_HPP
