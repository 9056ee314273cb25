// The text of a level in tables.

#ifndef LIMITREE_CLI_LEVEL_TEXT_HPP
#define LIMITREE_CLI_LEVEL_TEXT_HPP

#include <string>

#include "limitree.hpp"

namespace limitree::cli {

// The place of the level in the tree: "user:*/trade", "user:* (shadow)".
std::string policy_title(const limitree_level& level, bool utf8);

// "4/6": tokens left, and tokens in a full bucket.
std::string left_text(const limitree_level& level);

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_LEVEL_TEXT_HPP
