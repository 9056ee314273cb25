// SHA-256 (FIPS 180-4), for names that are too long to write out.

#ifndef LIMITREE_BASE_SHA256_HPP
#define LIMITREE_BASE_SHA256_HPP

#include <array>
#include <cstdint>
#include <string_view>

namespace limitree {

std::array<std::uint8_t, 32> sha256(std::string_view text);

}  // namespace limitree

#endif  // LIMITREE_BASE_SHA256_HPP
