// Numbers that nobody can foresee, from the system.
//
// Not std::random_device: of glibc 2.36 it becomes arc4random(), and a program
// with the C++ library in it would not start on any system that is older.

#ifndef LIMITREE_STORE_ENTROPY_HPP
#define LIMITREE_STORE_ENTROPY_HPP

#include <cstdint>

namespace limitree {

// 64 random bits.  Throws std::system_error if the system has none to give.
std::uint64_t random_word();

}  // namespace limitree

#endif  // LIMITREE_STORE_ENTROPY_HPP
