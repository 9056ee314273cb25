// The files that `overrides:` names, read once for each place that needs them.

#ifndef LIMITREE_TREE_OVERRIDE_FILES_HPP
#define LIMITREE_TREE_OVERRIDE_FILES_HPP

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tree/draft.hpp"
#include "tree/key_kind.hpp"
#include "tree/nodes.hpp"
#include "tree/problems.hpp"
#include "tree/text_file.hpp"

namespace limitree {

// Where they are found: beside each text of limits.
struct OverrideFiles {
  std::span<const std::string_view> origins;  // the names of the texts
  const ReadFile& read;
};

// The same for one of the texts.
struct OverrideFolder {
  std::string_view origin;
  const ReadFile& read;
};

// Whether `name` may be one, by how it ends.
bool is_overrides_name(std::string_view name);

// What one of them said.
struct LoadedOverrides {
  const Draft* draft;              // where it is named
  Key key;                         // as what the ids were read
  std::uint32_t index;             // in Nodes::overrides
  std::vector<LimitRange> limits;  // by the number of an id
};

// Reads the file that `draft` names, with ids of `key`, into *nodes.
// REQUIRES: it names one, and has a child "*".
LoadedOverrides load_overrides(const OverrideFolder& folder, const Draft& draft,
                               Key key, Nodes* nodes, Problems* problems);

}  // namespace limitree

#endif  // LIMITREE_TREE_OVERRIDE_FILES_HPP
