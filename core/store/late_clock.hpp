// What becomes of a process whose clock is behind those that share its buckets.

#pragma once

#include <chrono>
#include <string>

#include "base/time.hpp"

namespace limitree {

// A process whose clock is behind by less decides at the time of the others.
inline constexpr Duration kMostBehind = std::chrono::seconds(60);

// "2026-11-24 05:31:21.004 UTC"
std::string text_of(Instant at);

}  // namespace limitree
