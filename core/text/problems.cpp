#include "text/problems.hpp"

#include "base/utf8.hpp"

namespace limitree {

namespace {

constexpr std::size_t kMaxPrinted = 64;
constexpr std::size_t kMaxLegible = 1000;
constexpr std::size_t kMaxWord = 24;     // longer words are not misspelled keys
constexpr std::size_t kMostDeep = 64;    // a text of YAML has no more
constexpr std::size_t kMostPlace = 256;  // bytes, and one more key

// The number of letters to add, drop, replace or swap with a neighbor to turn
// `a` into `b`.  REQUIRES: neither is longer than kMaxWord.
std::size_t edits(std::string_view a, std::string_view b) {
  std::array<std::array<std::size_t, kMaxWord + 1>, kMaxWord + 1> cost;
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                             cost[i - 1][j - 1] + replaced});
      const bool swapped =
          i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

// Whether a terminal would do more with `character` than show it: C0, C1, line
// separators, and marks that change the direction of writing.
bool is_control(std::string_view character) {
  const auto byte = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return byte < 0x20 || byte == 0x7f;
  if (character.size() == 2) return byte == 0xc2 && character < "\xc2\xa0";
  return (character >= "\xe2\x80\xa8" && character <= "\xe2\x80\xae") ||
         (character >= "\xe2\x81\xa6" && character <= "\xe2\x81\xa9");
}

// A walk through a line of JSON, which a program has made of its data: nobody
// can look up a column there.
class JsonWalk {
 public:
  explicit JsonWalk(std::string_view text) : rest_(text) {}

  // "schema.user.limits[1]: " for the value, or the key, at `column`; empty in
  // an empty text, and in lists within lists without an end.  REQUIRES: no
  // column before the last one asked for.
  std::string at(std::uint32_t column) {
    while (!rest_.empty() && column_ < column && levels_.size() <= kMostDeep) {
      step();
    }
    std::string path;
    if (levels_.size() > kMostDeep) return path;
    for (const Level& level : levels_) {
      if (path.size() > kMostPlace) {
        path += "...";
        break;
      }
      if (level.is_list) {
        path += '[' + std::to_string(level.index) + ']';
      } else if (!level.key.empty()) {
        path += (path.empty() ? "" : ".") + printable(level.key);
      }
    }
    return path.empty() ? path : path + ": ";
  }

 private:
  struct Level {
    bool is_list;
    std::size_t index = 0;
    std::string_view key = {};
  };

  void step() {
    std::size_t size = 1;
    switch (rest_[0]) {
      case '{':
      case '[':
        levels_.push_back({rest_[0] == '['});
        break;
      case '}':
      case ']':
        if (!levels_.empty()) levels_.pop_back();
        break;
      case ',':
        if (!levels_.empty()) {
          ++levels_.back().index;
          levels_.back().key = {};
        }
        break;
      case '"':
        while (size < rest_.size() && rest_[size] != '"') {
          size += rest_[size] == '\\' ? 2U : 1U;
        }
        size = std::min(size, rest_.size());
        if (!levels_.empty() && rest_.substr(size).starts_with("\":")) {
          levels_.back().key = rest_.substr(1, size - 1);
        }
        size = std::min(size + 1, rest_.size());
        break;
      default:
        break;
    }
    column_ += static_cast<std::uint32_t>(
        std::ranges::count_if(rest_.substr(0, size),
                              [](char byte) { return (byte & 0xC0) != 0x80; }));
    rest_.remove_prefix(size);
  }

  std::string_view rest_;
  std::uint32_t column_ = 1;
  std::vector<Level> levels_;
};

}  // namespace

std::string unknown_word(std::string_view what, std::string_view word,
                         Words known) {
  std::string text = "unknown " + std::string(what) + " " + quote(word) + ", ";
  const std::string_view meant = nearest(word, known);
  if (!meant.empty()) return text + "did you mean " + quote(meant) + "?";
  return text + "known are: " + join(known);
}

void Problems::add(Mark mark, std::string what) {
  if (problems_.size() == kMaxMessages) {
    ++uncounted_;
    last_ = {text_, file_};
    return;
  }
  problems_.push_back({{text_, file_}, mark, std::move(what)});
}

std::vector<std::string> Problems::texts() const {
  std::vector<std::string> texts;
  for (const Problem& problem : problems_) texts.push_back(problem.what);
  return texts;
}

void Problems::enter_file(std::string_view name) {
  const auto found = std::find(files_.begin(), files_.end(), name);
  file_ = static_cast<std::size_t>(found - files_.begin());
  if (found == files_.end()) files_.emplace_back(name);
}

Status Problems::to_status(std::span<const std::string_view> origins) const {
  std::vector<Problem> sorted = problems_;
  std::sort(sorted.begin(), sorted.end());
  // Inherited text is checked wherever it ends up, so problems repeat.
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());

  const auto name = [this, origins](const Source& source) {
    return source.file == 0 ? std::string(origins[source.text])
                            : files_[source.file];
  };
  Error error{Code::kInvalidConfig, {}};
  Source walked;
  std::optional<JsonWalk> walk;
  for (const Problem& problem : sorted) {
    const Source& source = problem.source;
    if (!walk || source != walked) {
      walk.emplace(source.file == 0 ? data_[source.text] : "");
      walked = source;
    }
    error.messages.push_back(
        name(source) + ":" + std::to_string(problem.mark.line) + ":" +
        std::to_string(problem.mark.column) + ": " +
        // YAML has line breaks that JSON has not.
        (problem.mark.line == 1 ? walk->at(problem.mark.column)
                                : std::string()) +
        problem.what);
  }
  if (uncounted_ > 0) {
    error.messages.push_back(name(last_) + ": and " +
                             std::to_string(uncounted_) + " more");
  }
  return Status(std::move(error));
}

std::string printable(std::string_view text) {
  std::string safe;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = utf8_size(text.substr(i));
    if (i + std::max<std::size_t>(size, 1) > kMaxPrinted) return safe + "...";
    const std::string_view character =
        text.substr(i, std::max<std::size_t>(size, 1));
    if (size == 0 || is_control(character)) {
      for (const char byte : character) {
        safe += "\\x";
        append_hex(static_cast<unsigned char>(byte), &safe);
      }
    } else {
      if (text[i] == '"' || text[i] == '\\') safe += '\\';
      safe += character;
    }
    i += character.size();
  }
  return safe;
}

bool is_printable(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = utf8_size(text.substr(i));
    if (size == 0 || is_control(text.substr(i, size))) return false;
    i += size;
  }
  return true;
}

std::string legible(std::string_view text) {
  const bool safe = text.size() <= kMaxLegible && is_printable(text);
  return safe ? std::string(text) : printable(text);
}

std::string quote(std::string_view text) { return '"' + printable(text) + '"'; }

std::string_view nearest(std::string_view word,
                         std::span<const std::string_view> known) {
  std::string_view best;
  std::size_t best_edits = 3;
  if (word.size() > kMaxWord) return best;
  for (const std::string_view candidate : known) {
    if (candidate.size() > kMaxWord) continue;
    const std::size_t count = edits(word, candidate);
    // A short word with half of its letters replaced is another word.
    if (count < best_edits && count * 3 <= candidate.size() + 1) {
      best = candidate;
      best_edits = count;
    }
  }
  return best;
}

std::string join(std::span<const std::string_view> words) {
  std::string joined;
  for (const std::string_view word : words) {
    if (!joined.empty()) joined += ", ";
    joined += word;
  }
  return joined;
}

}  // namespace limitree
