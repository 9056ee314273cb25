// The files that `overrides:` names, each read once for each node that needs
// it.

#pragma once

#include <span>
#include <string_view>

#include "text/problems.hpp"
#include "text/text_file.hpp"
#include "tree/draft.hpp"
#include "tree/key_kind.hpp"
#include "tree/nodes.hpp"

namespace limitree {

// Where the files are: next to each text of limits.
struct OverrideFiles {
  std::span<const std::string_view> origins;  // the names of the texts
  const ReadFile& read;
};

// Whether `name` is a valid name, by its ending.
bool is_overrides_name(std::string_view name);

// Reads the file that `draft` names into *nodes.  `draft` is from the text
// `origin`, and ids in the file are of the kind `key`.
// REQUIRES: `draft` names a file, and has a child "*".
LoadedOverrides load_overrides(std::string_view origin, const ReadFile& read,
                               const Draft& draft, Key key, Nodes* nodes,
                               Problems* problems);

}  // namespace limitree
