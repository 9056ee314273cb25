// The mistakes in files of limits, one line for each, and the words in them.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limit.hpp"
#include "base/status.hpp"

namespace limitree {

// A position in the text.  Both count from 1; columns are characters.
struct Mark {
  std::uint32_t line = 1;
  std::uint32_t column = 1;

  friend auto operator<=>(const Mark&, const Mark&) = default;
};

class Problems {
 public:
  // A longer list does not help.  The rest is only counted.
  static constexpr std::size_t kMaxMessages = 1000;

  bool empty() const { return problems_.empty(); }
  std::size_t size() const { return problems_.size() + uncounted_; }
  void add(Mark mark, std::string what);

  // The value of `result`.  If there is none, adds `what` and the reason.
  template <typename T>
  std::optional<T> take(Result<T> result, Mark mark,
                        std::string_view what = "") {
    if (result.ok()) return std::move(result.value());
    add(mark, std::string(what) + result.status().message());
    return std::nullopt;
  }

  // What was added, without places.
  std::vector<std::string> texts() const;

  // Problems added from now on belong to this text, counted from 0.  If it is
  // `data` of a program, in JSON on one line, they also say where in it they
  // are: "limits:1:29: schema.user.limits[1]: <what>".  Borrows `data`.
  void set_text(std::size_t text, std::string_view data = {}) {
    text_ = text;
    file_ = 0;
    if (data_.size() <= text) data_.resize(text + 1);
    if (data.starts_with("{\"") && data.find('\n') == data.npos)
      data_[text] = data;
  }

  // Problems added from now on belong to the file of this name, or, if the name
  // is empty, to the text itself.
  void enter_file(std::string_view name);

  // kInvalidConfig with "<origin>:<line>:<column>: <what>" for each problem, in
  // the order of the texts.  A text comes before its files, and equal problems
  // are reported once.
  // REQUIRES: !empty(), and an origin for every text.
  Status to_status(std::span<const std::string_view> origins) const;
  Status to_status(std::string_view origin) const {
    return to_status(std::span(&origin, 1));
  }

 private:
  struct Source {
    std::size_t text = 0;
    std::size_t file = 0;  // index in files_; 0: the text itself

    friend auto operator<=>(const Source&, const Source&) = default;
  };
  struct Problem {
    Source source;
    Mark mark;
    std::string what;

    friend auto operator<=>(const Problem&, const Problem&) = default;
  };

  std::vector<Problem> problems_;
  std::vector<std::string> files_ = {""};
  std::vector<std::string_view> data_ = {{}};  // of each text; empty: a file
  std::size_t uncounted_ = 0;                  // beyond kMaxMessages ...
  Source last_;                                // ... of the last of them
  std::size_t text_ = 0;
  std::size_t file_ = 0;
};

// `text` in a form that is safe to print: one line of UTF-8, at most 64 bytes.
std::string printable(std::string_view text);

// Whether `text` is safe to print: UTF-8 without control characters.
bool is_printable(std::string_view text);

// `text` as it is if that is safe to print and not too long for a message, else
// printable(text).
std::string legible(std::string_view text);

// printable() in double quotes.
std::string quote(std::string_view text);

// The word of `known` that `word` was probably meant to be; empty if none is
// similar.
std::string_view nearest(std::string_view word,
                         std::span<const std::string_view> known);

// "a, b, c"
std::string join(std::span<const std::string_view> words);

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
