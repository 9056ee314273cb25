// Text in aligned columns.

#pragma once

#include <cstddef>
#include <string>
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
  void add_column(std::string heading, Align align);

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

}  // namespace limitree::cli
