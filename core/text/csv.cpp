#include "text/csv.hpp"

#include <algorithm>

namespace limitree {

namespace {

// The column of the character that begins at `at`.
std::uint32_t column_of(std::string_view line, std::size_t at) {
  const auto begins = [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  };
  const std::string_view before = line.substr(0, at);
  return static_cast<std::uint32_t>(
      std::count_if(before.begin(), before.end(), begins) + 1);
}

}  // namespace

bool CsvReader::next() {
  while (!rest_.empty()) {
    const std::size_t end = rest_.find('\n');
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
    ++line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && split(line)) return true;
  }
  return false;
}

bool CsvReader::split(std::string_view line) {
  cells_.clear();
  unquoted_.clear();
  // Cells point into it, so it must not move.
  if (unquoted_.capacity() < line.size()) unquoted_.reserve(line.size());
  for (std::size_t at = 0;;) {
    CsvCell& cell = cells_.emplace_back();
    cell.column = column_of(line, at);
    if (at < line.size() && line[at] == '"') {
      if (!take_quoted(line, &at, &cell)) return false;
    } else {
      const std::size_t end = std::min(line.find(',', at), line.size());
      cell.text = line.substr(at, end - at);
      at = end;
    }
    if (at == line.size()) return true;
    ++at;
  }
}

// Takes "a ""b""" and the text up to the comma, to which it sets *at.
bool CsvReader::take_quoted(std::string_view line, std::size_t* at,
                            CsvCell* cell) {
  const std::size_t first = unquoted_.size();
  std::size_t from = *at + 1;
  for (;;) {
    const std::size_t quote = line.find('"', from);
    if (quote == line.npos) {
      problems_->add({line_, cell->column}, "a quote is not closed");
      return false;
    }
    unquoted_.append(line, from, quote - from);
    from = quote + 1;
    if (from < line.size() && line[from] == '"') {
      unquoted_ += '"';
      ++from;
      continue;
    }
    break;
  }
  if (from < line.size() && line[from] != ',') {
    problems_->add({line_, column_of(line, from)},
                   "a comma must follow a closed quote");
    return false;
  }
  cell->text = std::string_view(unquoted_).substr(first);
  cell->quoted = true;
  *at = from;
  return true;
}

}  // namespace limitree
