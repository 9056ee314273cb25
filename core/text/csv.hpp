// CSV for tables of limits: RFC 4180 without line ends inside cells.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/problems.hpp"

namespace limitree {

struct CsvCell {
  std::string_view text;
  std::uint32_t column = 1;  // in characters, as in Mark
  bool quoted = false;
};

// Reads a text line by line.  The text is borrowed.
class CsvReader {
 public:
  CsvReader(std::string_view text, Problems* problems)
      : rest_(text), problems_(problems) {}

  // Reads the next line that is not empty; false if there is none.  The cells
  // stay valid until the next call.  A line that is not CSV is reported and
  // skipped.
  bool next();

  const std::vector<CsvCell>& cells() const { return cells_; }
  std::uint32_t line() const { return line_; }

 private:
  bool split(std::string_view line);
  bool take_quoted(std::string_view line, std::size_t* at, CsvCell* cell);

  std::string_view rest_;
  Problems* problems_;
  std::uint32_t line_ = 0;
  std::vector<CsvCell> cells_;
  std::string unquoted_;  // quoted cells after doubled quotes are removed
};

}  // namespace limitree
