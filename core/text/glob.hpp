// Names with a * that match many texts.

#pragma once

#include <cstddef>
#include <string_view>

namespace limitree {

// Whether `glob` matches all of `text`: each * is any bytes, or none.
bool glob_matches(std::string_view glob, std::string_view text);

// The number of bytes of `glob` that are not *.
std::size_t literal_size(std::string_view glob);

// Whether some text matches both globs.
bool globs_overlap(std::string_view a, std::string_view b);

}  // namespace limitree
