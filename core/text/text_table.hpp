// Lines of two columns with the second one aligned, for describe() and
// explain().

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/limit.hpp"
#include "base/plan.hpp"

namespace limitree {

class TextTable {
 public:
  // Adds a line whose left column is indented by `indent` steps.
  void add(std::size_t indent, std::string left, std::string right);

  std::string text() const;

 private:
  struct Line {
    std::string left;
    std::string right;
  };

  std::vector<Line> lines_;
  std::size_t width_ = 0;  // of the left column
};

// "30 per 1m, capacity 16", and everything unusual: "..., shadow".
std::string limit_in_words(const Limit& limit);

// "1m", or "month".
std::string period_in_words(const Limit& limit);

// What a plan has found, a line for each hold.  Of many holds of a level it
// names the first kMostHoldLines and the last.
inline constexpr std::size_t kMostHoldLines = 20;
std::string held_in_words(const Plan& plan, std::span<const FoundHold> found);

}  // namespace limitree
