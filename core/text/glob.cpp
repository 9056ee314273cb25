#include "text/glob.hpp"

#include <algorithm>
#include <vector>

namespace limitree {

bool glob_matches(std::string_view glob, std::string_view text) {
  // After a mismatch only the last * takes one byte more: taking more with an
  // earlier * leaves less for the rest.
  constexpr std::size_t kNone = std::string_view::npos;
  std::size_t g = 0;
  std::size_t star = kNone;  // the last * met ...
  std::size_t taken_to = 0;  // ... and the end of what it has taken
  for (std::size_t s = 0; s < text.size();) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      taken_to = s;
    } else if (g < glob.size() && glob[g] == text[s]) {
      ++g;
      ++s;
    } else if (star != kNone) {
      g = star + 1;
      s = ++taken_to;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == kNone;
}

std::size_t literal_size(std::string_view glob) {
  return glob.size() - static_cast<std::size_t>(std::ranges::count(glob, '*'));
}

bool globs_overlap(std::string_view a, std::string_view b) {
  // row[j]: whether some text matches both the rest of `a` and the rest of `b`
  // from j on; from the ends to the beginnings.
  std::vector<bool> row(b.size() + 1);
  for (std::size_t i = a.size() + 1; i-- > 0;) {
    const std::vector<bool> below = row;  // of the rest of `a` from i + 1 on
    for (std::size_t j = b.size() + 1; j-- > 0;) {
      const bool any_a = i < a.size() && a[i] == '*';
      const bool any_b = j < b.size() && b[j] == '*';
      const bool same = i < a.size() && j < b.size() && a[i] == b[j];
      row[j] = (i == a.size() && j == b.size()) ||
               (any_a && (below[j] || (j < b.size() && row[j + 1]))) ||
               (any_b && (row[j + 1] || (i < a.size() && below[j]))) ||
               (same && below[j + 1]);
    }
  }
  return row[0];
}

}  // namespace limitree
