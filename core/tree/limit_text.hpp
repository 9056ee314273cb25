// A limit in words: "30/minute", "30 per 60s burst 16".

#ifndef LIMITREE_TREE_LIMIT_TEXT_HPP
#define LIMITREE_TREE_LIMIT_TEXT_HPP

#include <string_view>

#include "base/status.hpp"

namespace limitree {

// The parts of such a text, still to be read.
struct LimitText {
  std::string_view count;
  std::string_view period;
  std::string_view burst_key;  // "burst", "max_burst", or empty if not given
  std::string_view burst;
};

// Takes COUNT (/ | per) DURATION [burst N | max_burst N] apart.  Fails with
// what is wrong; whether the parts are numbers is for the caller to see.
Result<LimitText> split_limit_text(std::string_view text);

}  // namespace limitree

#endif  // LIMITREE_TREE_LIMIT_TEXT_HPP
