#include "level_text.hpp"

#include "format.hpp"

namespace limitree::cli {

std::string policy_title(const limitree_level& level, bool utf8) {
  std::string title = printable(to_view(level.policy), utf8);
  if (level.mode != LIMITREE_ENFORCE) {
    title += std::string(" (") + limitree_mode_name(level.mode) + ')';
  }
  return title;
}

std::string left_text(const limitree_level& level) {
  return std::to_string(level.remaining) + '/' + std::to_string(level.limit);
}

}  // namespace limitree::cli
