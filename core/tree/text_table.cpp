#include "tree/text_table.hpp"

#include <algorithm>
#include <utility>

#include "tree/number.hpp"

namespace limitree {

namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kGap = 3;        // between the columns
constexpr std::size_t kMaxWidth = 40;  // longer lines stick out

}  // namespace

void TextTable::add(std::size_t indent, std::string left, std::string right) {
  left.insert(0, kIndent * indent, ' ');
  if (!right.empty() && left.size() <= kMaxWidth) {
    width_ = std::max(width_, left.size());
  }
  lines_.push_back({std::move(left), std::move(right)});
}

std::string TextTable::text() const {
  std::string text;
  for (const Line& line : lines_) {
    text += line.left;
    if (!line.right.empty()) {
      text.append(width_ - std::min(width_, line.left.size()) + kGap, ' ');
      text += line.right;
    }
    text += '\n';
  }
  return text;
}

std::string limit_in_words(const Limit& limit) {
  std::string words = std::to_string(limit.count) + " per " +
                      format_duration(limit.period) + ", capacity " +
                      std::to_string(limit.rate.capacity);
  if (limit.cost != 1) words += ", cost x" + std::to_string(limit.cost);
  if (limit.mode != Mode::kEnforce) {
    words += std::string(", ") + mode_name(limit.mode);
  }
  if (limit.charge == Charge::kIndependent) words += ", charged independently";
  return words;
}

}  // namespace limitree
