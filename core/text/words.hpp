// Known words, and the messages about unknown ones.

#ifndef LIMITREE_TEXT_WORDS_HPP
#define LIMITREE_TEXT_WORDS_HPP

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/limit.hpp"

namespace limitree {

using Words = std::span<const std::string_view>;

// The algorithms, and another name for GCRA: leaky_bucket, unless it drains in
// steps.
inline constexpr std::array kAlgorithmWords = [] {
  std::array<std::string_view, kAlgorithms.size() + 1> words;
  for (std::size_t i = 0; i < kAlgorithms.size(); ++i) {
    words[i] = kAlgorithms[i].name;
  }
  words.back() = "token_bucket";
  return words;
}();

inline bool contains(Words words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// `unknown mode "shadwo", known are: enforce, shadow, check`, or, if one of
// the known words is near, `..., did you mean "shadow"?`.
std::string unknown_word(std::string_view what, std::string_view word,
                         Words known);

}  // namespace limitree

#endif  // LIMITREE_TEXT_WORDS_HPP
