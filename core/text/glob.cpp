#include "text/glob.hpp"

#include <cstddef>

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

}  // namespace limitree
