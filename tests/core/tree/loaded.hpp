// Trees and walks as text, for the tests of this folder.

#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/key.hpp"
#include "tree/schema.hpp"

namespace limitree {

using Strings = std::vector<std::string>;
using Segments = std::vector<std::string_view>;

// Files by their names, instead of those of the file system.
using Files = std::map<std::string, std::string>;

inline ReadFile reading(Files files) {
  return [files = std::move(files)](const std::string& path,
                                    std::size_t) -> Result<std::string> {
    const auto found = files.find(path);
    if (found != files.end()) return found->second;
    return Status(Code::kInvalidConfig, "no such file");
  };
}

inline Tree loaded(std::string_view yaml, const Files& files = {}) {
  Result<Tree> tree = load_tree(yaml, "limits.yaml", reading(files));
  if (tree.ok()) return std::move(tree.value());
  ADD_FAILURE() << tree.status().error().messages.front();
  return Tree();
}

// The mistakes in `yaml`; empty if there are none.
inline Strings mistakes(std::string_view yaml, const Files& files = {}) {
  Result<Tree> tree = load_tree(yaml, "f", reading(files));
  if (tree.ok()) return {};
  EXPECT_EQ(tree.status().code(), Code::kInvalidConfig);
  return tree.status().error().messages;
}

// The levels on a path: "user:* user:alex 16", policy, bucket, capacity; or why
// there are none.
inline Strings levels(const Tree& tree, const Segments& path) {
  Plan plan(Operation::kPeek);
  const Status status = tree.match(path, 1, &plan);
  if (!status.ok()) return status.error().messages;
  Strings found;
  for (const Level& level : plan.levels) {
    found.push_back(level.limit->policy.str() + " " + bucket_name(plan, level) +
                    " " + std::to_string(level.limit->rate.capacity));
  }
  return found;
}

}  // namespace limitree
