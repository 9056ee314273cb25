// Durations as programs in Go write them: "180m", "1h30m0s", "1.5h".

#ifndef LIMITREE_TREE_GO_DURATION_HPP
#define LIMITREE_TREE_GO_DURATION_HPP

#include <optional>
#include <string_view>

#include "base/time.hpp"

namespace limitree {

// Nothing if `text` is none, is negative, or is longer than 292 years.
// Fractions of a nanosecond are cut off.
std::optional<Duration> parse_go_duration(std::string_view text);

}  // namespace limitree

#endif  // LIMITREE_TREE_GO_DURATION_HPP
