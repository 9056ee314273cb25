// The entries of a descriptor of Envoy on the command line.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limitree.hpp"

namespace limitree::cli {

class EntryTexts {
 public:
  // Reads "key=value,key=value".  An entry without a "=" has no value.  A
  // backslash makes the character after it literal.  Throws UsageError if a key
  // is missing.
  explicit EntryTexts(std::string_view text);

  // They refer to this object.
  std::vector<limitree_entry> entries() const;

 private:
  std::vector<std::pair<std::string, std::string>> texts_;  // key, value
};

}  // namespace limitree::cli
