// What tells versions of a file apart.

#ifndef LIMITREE_IO_FILE_STATE_HPP
#define LIMITREE_IO_FILE_STATE_HPP

#include <string>

namespace limitree {

// Changes when the file does, or who may read it, or when its name stands for
// another one.  Follows symbolic links.
std::string file_state(const std::string& file);

}  // namespace limitree

#endif  // LIMITREE_IO_FILE_STATE_HPP
