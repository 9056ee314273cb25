// What tells versions of a file apart.

#pragma once

#include <string>

namespace limitree {

// Changes when the file, its owner or its permissions change, or when the name
// stands for another file.  Follows symbolic links.
std::string file_state(const std::string& file);

}  // namespace limitree
