// The clock of a limiter that lives in the time of a log or of a simulation.

#ifndef LIMITREE_CLI_VIRTUAL_CLOCK_HPP
#define LIMITREE_CLI_VIRTUAL_CLOCK_HPP

#include <cstdint>

namespace limitree::cli {

constexpr std::int64_t kSecondNs = 1'000'000'000;

// Any start is possible; at this one, windows of every common length begin.
constexpr std::int64_t kStartNs = 1'767'571'200'000'000'000;  // a Monday, UTC

// For Config::set_clock: `now_ns` is a std::int64_t, in Unix nanoseconds.
inline std::int64_t read_clock(void* now_ns) {
  return *static_cast<const std::int64_t*>(now_ns);
}

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_VIRTUAL_CLOCK_HPP
