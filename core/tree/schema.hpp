// limits.yaml: text in, Tree out.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "text/text_file.hpp"
#include "tree/tree.hpp"

namespace limitree {

// Reads a limits.yaml, as docs/limits-yaml.md describes it.
//
// kInvalidConfig with one message for each mistake, all of them, in the order
// of the text: "<origin>:<line>:<column>: <what is wrong>".
//
// `overrides: name` is a file beside `origin`, the name of the file that `yaml`
// was read from, and is opened by `read`.  Where limits come from somewhere
// else, `origin` has no folder, and `name` is found from the working directory.
// Mistakes in such files are reported after those of `yaml`, under the names of
// the files.
Result<Tree> load_tree(std::string_view yaml, std::string_view origin,
                       const ReadFile& read = read_file);

// One of the texts that a tree comes from; `origin` names it in messages.
struct LimitsText {
  std::string_view yaml;
  std::string_view origin;
};

// The same for a tree whose top-level names are in several texts.  Each name is
// in one of them.
Result<Tree> load_tree(std::span<const LimitsText> texts,
                       const ReadFile& read = read_file);

// The most that texts may stand for: nodes of the tree, and bytes of all
// policies, each of which holds the names above its limit.
struct TextBounds {
  std::size_t nodes = 4'000'000;
  std::size_t policy_bytes = SIZE_MAX;
};

// For a text from another machine, of up to 64 KiB: all nodes that it can write
// out are allowed, but not many times as many that they inherit.
inline constexpr TextBounds kForeignText{20'000, std::size_t{1} << 20};

// Reads one top-level name for Tree::with(): `text` is what would stand below
// `name` in a limits.yaml.  Fails as load_tree() does; a mistake in the name is
// reported at the beginning of the text.
Result<std::shared_ptr<Nodes>> load_root(std::string_view name,
                                         const LimitsText& text,
                                         const ReadFile& read = read_file,
                                         TextBounds bounds = {});

}  // namespace limitree
