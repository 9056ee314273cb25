// Files that a limits.yaml names, and what all text has to be.

#ifndef LIMITREE_TREE_TEXT_FILE_HPP
#define LIMITREE_TREE_TEXT_FILE_HPP

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "tree/problems.hpp"

namespace limitree {

// Returns what the file `path` holds, or kInvalidConfig with why not; no more
// than `most` bytes.
using ReadFile = std::function<Result<std::string>(const std::string& path,
                                                   std::size_t most)>;

// ReadFile of the file system.  Never waits: what is no regular file is
// refused.
Result<std::string> read_file(const std::string& path, std::size_t most);

// `name` as it is found from the file `origin`: in its folder, unless `name` is
// absolute.
std::string beside(std::string_view origin, std::string_view name);

// Whether `text` is UTF-8 without control characters other than blanks and
// ends of lines.  If not, the first byte that is none is reported.
bool check_text(std::string_view text, Problems* problems);

// `text` without the byte order mark that editors of some systems begin with.
std::string_view without_mark(std::string_view text);

}  // namespace limitree

#endif  // LIMITREE_TREE_TEXT_FILE_HPP
