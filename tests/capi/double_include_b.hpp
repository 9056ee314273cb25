#ifndef LIMITREE_TESTS_DOUBLE_INCLUDE_B_HPP
#define LIMITREE_TESTS_DOUBLE_INCLUDE_B_HPP

#include <cstdint>

std::int32_t abi_version_seen_by_b();

#endif  // LIMITREE_TESTS_DOUBLE_INCLUDE_B_HPP
