// What is wrong with a limits.yaml, collected: one line for each mistake.

#ifndef LIMITREE_TREE_PROBLEMS_HPP
#define LIMITREE_TREE_PROBLEMS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace limitree {

// A place in the text; both count from 1, columns in characters.
struct Mark {
  std::uint32_t line = 1;
  std::uint32_t column = 1;

  friend auto operator<=>(const Mark&, const Mark&) = default;
};

class Problems {
 public:
  // Longer lists help nobody; the rest is counted.
  static constexpr std::size_t kMaxMessages = 1000;

  bool empty() const { return problems_.empty(); }
  std::size_t size() const { return problems_.size() + uncounted_; }
  void add(Mark mark, std::string what);

  // What is added from now on stands in the text of this number, from 0.
  void set_text(std::size_t text) {
    text_ = text;
    file_ = 0;
  }

  // What is added from now on stands in a file that this text names; with the
  // empty name, in the text itself again.
  void enter_file(std::string_view name);

  // kInvalidConfig with "<origin>:<line>:<column>: <what>" for each problem,
  // in the order of the texts, each before its files, and each once.
  // REQUIRES: !empty(), and there is an origin for every text.
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
  std::size_t uncounted_ = 0;  // left out beyond kMaxMessages ...
  Source last_;                // ... the last of them here
  std::size_t text_ = 0;
  std::size_t file_ = 0;
};

// `text` made safe to print: one line of UTF-8, cut after 64 bytes.
std::string printable(std::string_view text);

// Whether it is safe to print as it is: UTF-8 without control characters.
bool is_printable(std::string_view text);

// As printable() has it, in double quotes.
std::string quote(std::string_view text);

// The one of `known` that `word` was probably meant to be; empty if none is
// near.
std::string_view nearest(std::string_view word,
                         std::span<const std::string_view> known);

// "a, b, c"
std::string join(std::span<const std::string_view> words);

}  // namespace limitree

#endif  // LIMITREE_TREE_PROBLEMS_HPP
