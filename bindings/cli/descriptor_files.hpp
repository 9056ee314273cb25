// The files of envoyproxy/ratelimit, and the entries of a descriptor.

#ifndef LIMITREE_CLI_DESCRIPTOR_FILES_HPP
#define LIMITREE_CLI_DESCRIPTOR_FILES_HPP

#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "limitree.hpp"

namespace limitree::cli {

// The files in the folder `name`, sorted, or `name` itself if it is no folder.
// Folders in it, and files whose name begins with a dot, are left out.  Throws
// FileError if there is no file.
std::vector<std::string> files_in(const std::string& name);

// Reads all files of `source` into *config.  Throws FileError, or Error if
// there are mistakes.
void read_descriptors(const LimitsSource& source, Config* config);

struct EntryText {
  std::string key;
  std::string value;

  friend bool operator==(const EntryText&, const EntryText&) = default;
};

// Reads "key=value,key=value".  An entry without a "=" has no value.  A
// backslash takes the character after it literally.  Throws UsageError if a key
// is missing.
std::vector<EntryText> parse_entries(std::string_view text);

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_DESCRIPTOR_FILES_HPP
