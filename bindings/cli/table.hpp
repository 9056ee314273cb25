// Text in aligned columns.

#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "terminal.hpp"

namespace limitree::cli {

enum class Align { kLeft, kRight };

struct Cell {
  std::string text;
  Colour colour = Colour::kNone;
};

class Table {
 public:
  void add_columns(Align align, std::initializer_list<std::string> headings);

  // Puts `title` above the next `columns` columns that are added.
  void add_group(std::string title, std::size_t columns);

  // A row may be shorter than the columns.
  void add_row(std::vector<Cell> cells);

  // The width of text() on the terminal, in columns.
  std::size_t width();

  // All lines: titles if there are groups, headings, and rows.
  std::string text(const Terminal& terminal);

  // Only the rows.
  std::string body(const Terminal& terminal) const;

 private:
  struct Column {
    std::string heading;
    Align align;
    std::size_t width;
    std::size_t gap;  // before the column
  };
  struct Group {
    std::string title;
    std::size_t first;
    std::size_t columns;
  };

  void fit_titles();
  std::string titles(const Terminal& terminal) const;
  std::string line(const std::vector<Cell>& cells,
                   const Terminal& terminal) const;
  std::size_t span(std::size_t first, std::size_t columns) const;

  std::vector<Column> columns_;
  std::vector<Group> groups_;
  std::vector<std::vector<Cell>> rows_;
};

// What stands around tables.

// A line of its own, after an empty one.
std::string heading(std::string_view text, const Terminal& terminal,
                    std::size_t blanks = 0);
// Puts blanks before each line.  REQUIRES: the last one ends as all do.
std::string indented(const std::string& lines, std::size_t blanks = 2);
// "and 3 more"; nothing for 0 or less.
std::string more_text(std::int64_t count);

}  // namespace limitree::cli
