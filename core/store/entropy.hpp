// Unpredictable numbers from the system.
//
// Not std::random_device: with glibc 2.36 it calls arc4random(), so a program
// that contains the C++ library would not start on older systems.

#pragma once

#include <cstdint>

namespace limitree {

// 64 random bits.  Throws std::system_error if the system has none to give.
std::uint64_t random_word();

}  // namespace limitree
