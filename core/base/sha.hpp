// SHA-1 and SHA-256 (FIPS 180-4).  Redis names scripts by SHA-1; SHA-256 stands
// for names that are too long to write out.

#pragma once

#include <string>
#include <string_view>

namespace limitree {

// As 40 and 64 hexadecimal digits.
std::string sha1_hex(std::string_view text);
std::string sha256_hex(std::string_view text);

}  // namespace limitree
