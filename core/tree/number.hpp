// Numbers and durations in limits.yaml: only forms that people read the way
// they are meant.

#ifndef LIMITREE_TREE_NUMBER_HPP
#define LIMITREE_TREE_NUMBER_HPP

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/time.hpp"

namespace limitree {

// Reads 0 or [-]digits without a leading zero.  The message of a refusal goes
// on after the name of what the number is for: "must be a whole number, ...".
Result<std::int64_t> parse_integer(std::string_view text);

// Reads "500ms", "15s", "3m", "2h", "1d", "1w", "5 minutes", "day", "s", or a
// number of seconds, "15" or "0.5".  Refusals as above; zero and less are
// allowed.
Result<Duration> parse_duration(std::string_view text);

// The shortest text that says `time` exactly: "1m", "90s", "1.5s", "8571us".
std::string format_duration(Duration time);

// The same as the command line writes times, "1.5s", "2m30s", "3d4h", for
// people only.  REQUIRES: time > 0.
std::string spoken_duration(Duration time);

// `text` without the blanks around it.
std::string_view trim(std::string_view text);

}  // namespace limitree

#endif  // LIMITREE_TREE_NUMBER_HPP
