#include "text/words.hpp"

#include "text/problems.hpp"

namespace limitree {

std::string unknown_word(std::string_view what, std::string_view word,
                         Words known) {
  std::string text = "unknown " + std::string(what) + " " + quote(word) + ", ";
  const std::string_view meant = nearest(word, known);
  if (!meant.empty()) return text + "did you mean " + quote(meant) + "?";
  return text + "known are: " + join(known);
}

}  // namespace limitree
