#include "table.hpp"

#include <algorithm>
#include <utility>

#include "format.hpp"

namespace limitree::cli {

namespace {

constexpr std::size_t kGroupGap = 4;

}  // namespace

void Table::add_columns(Align align,
                        std::initializer_list<std::string> headings) {
  for (const std::string& heading : headings) {
    const bool begins_group =
        !groups_.empty() && groups_.back().first == columns_.size();
    const std::size_t gap = columns_.empty() ? 0 : begins_group ? kGroupGap : 2;
    columns_.push_back({heading, align, display_width(heading), gap});
  }
}

void Table::add_group(std::string title, std::size_t columns) {
  groups_.push_back({std::move(title), columns_.size(), columns});
}

void Table::add_row(std::vector<Cell> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    columns_[i].width =
        std::max(columns_[i].width, display_width(cells[i].text));
  }
  rows_.push_back(std::move(cells));
}

std::size_t Table::span(std::size_t first, std::size_t columns) const {
  std::size_t width = 0;
  for (std::size_t i = first; i < first + columns; ++i) {
    width += columns_[i].width + (i == first ? 0 : columns_[i].gap);
  }
  return width;
}

std::size_t Table::width() {
  fit_titles();
  return span(0, columns_.size());
}

// Moves the column after a group to the right if the title is wider.
void Table::fit_titles() {
  for (const Group& group : groups_) {
    const std::size_t after = group.first + group.columns;
    const std::size_t have = span(group.first, group.columns);
    const std::size_t want = display_width(group.title);
    if (after < columns_.size() && want > have) {
      columns_[after].gap =
          std::max(columns_[after].gap, kGroupGap + want - have);
    }
  }
}

std::string Table::text(const Terminal& terminal) {
  fit_titles();
  std::string text;
  if (!groups_.empty()) text += titles(terminal);
  std::vector<Cell> headings;
  for (const Column& column : columns_) {
    headings.push_back({column.heading, Colour::kDim});
  }
  return text + line(headings, terminal) + body(terminal);
}

std::string Table::body(const Terminal& terminal) const {
  std::string text;
  for (const std::vector<Cell>& row : rows_) text += line(row, terminal);
  return text;
}

std::string Table::titles(const Terminal& terminal) const {
  std::string line;
  std::size_t column = 0;
  for (const Group& group : groups_) {
    const std::size_t from = span(0, group.first) + columns_[group.first].gap;
    line.append(from - column, ' ');
    line += terminal.paint(Colour::kBold, group.title);
    column = from + display_width(group.title);
  }
  return line + '\n';
}

std::string Table::line(const std::vector<Cell>& cells,
                        const Terminal& terminal) const {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Column& column = columns_[i];
    const std::string blanks(column.width - display_width(cells[i].text), ' ');
    line.append(column.gap, ' ');
    if (column.align == Align::kRight) line += blanks;
    line += terminal.paint(cells[i].colour, cells[i].text);
    if (column.align == Align::kLeft) line += blanks;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string heading(std::string_view text, const Terminal& terminal,
                    std::size_t blanks) {
  return '\n' + std::string(blanks, ' ') + terminal.paint(Colour::kBold, text) +
         '\n';
}

std::string indented(const std::string& lines, std::size_t blanks) {
  std::string text;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at) + 1;
    text.append(blanks, ' ').append(lines, at, end - at);
    at = end;
  }
  return text;
}

std::string more_text(std::int64_t count) {
  return count <= 0 ? "" : "and " + count_text(count) + " more\n";
}

}  // namespace limitree::cli
