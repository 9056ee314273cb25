// Durations in the format of Go: "180m", "1h30m0s", "1.5h".

#ifndef LIMITREE_TREE_GO_DURATION_HPP
#define LIMITREE_TREE_GO_DURATION_HPP

#include <optional>
#include <string_view>

#include "base/time.hpp"

namespace limitree {

// Returns nothing if `text` is not a duration, is negative, or is longer than
// 292 years.  Drops fractions of a nanosecond.
std::optional<Duration> parse_go_duration(std::string_view text);

}  // namespace limitree

#endif  // LIMITREE_TREE_GO_DURATION_HPP
