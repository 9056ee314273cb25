// Reading files, and checks of all text.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "text/problems.hpp"

namespace limitree {

// Returns the content of the file `path`, at most `most` bytes, or
// kInvalidConfig with the reason.
using ReadFile = std::function<Result<std::string>(const std::string& path,
                                                   std::size_t most)>;

// ReadFile of the file system.  Never blocks: only regular files are read.
Result<std::string> read_file(const std::string& path, std::size_t most);

// The path of `name`, seen from the file `origin`: in the same folder, unless
// `name` is absolute.
std::string beside(std::string_view origin, std::string_view name);

// Whether `text` is UTF-8 without control characters, except blanks and ends of
// lines.  If not, reports the first byte that is wrong.
bool check_text(std::string_view text, Problems* problems);

// `text` without the byte order mark that some editors write.
std::string_view without_mark(std::string_view text);

}  // namespace limitree
