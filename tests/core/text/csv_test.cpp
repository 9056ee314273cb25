#include "text/csv.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace limitree {
namespace {

struct Rows {
  std::vector<std::string> lines;  // "2: a|b"
  std::vector<std::string> problems;
};

Rows read(std::string_view text) {
  Rows rows;
  Problems problems;
  CsvReader csv(text, &problems);
  while (csv.next()) {
    std::string line = std::to_string(csv.line()) + ": ";
    for (const CsvCell& cell : csv.cells()) {
      if (!line.ends_with(": ")) line += '|';
      line += std::to_string(cell.column) + '=' + std::string(cell.text);
      if (cell.quoted) line += 'q';
    }
    rows.lines.push_back(line);
  }
  if (!problems.empty())
    rows.problems = problems.to_status("f").error().messages;
  return rows;
}

using Strings = std::vector<std::string>;

TEST(Csv, Cells) {
  EXPECT_EQ(read("a,bc,d").lines, Strings{"1: 1=a|3=bc|6=d"});
  EXPECT_EQ(read(",").lines, Strings{"1: 1=|2="});
  EXPECT_EQ(read("a\n").lines, Strings{"1: 1=a"});
  EXPECT_EQ(read(" a , b").lines, Strings{"1: 1= a |5= b"});
}

TEST(Csv, LinesEndInEitherWayAndEmptyOnesAreNone) {
  EXPECT_EQ(read("a\r\n\r\n\nb\n").lines, (Strings{"1: 1=a", "4: 1=b"}));
  EXPECT_TRUE(read("\n\n").lines.empty());
  EXPECT_TRUE(read("").lines.empty());
}

TEST(Csv, Quotes) {
  EXPECT_EQ(read("\"a,b\",c").lines, Strings{"1: 1=a,bq|7=c"});
  EXPECT_EQ(read("\"a\"\"b\",\"\"").lines, Strings{"1: 1=a\"bq|8=q"});
  EXPECT_EQ(read("\"\"\"\"\"\"").lines, Strings{"1: 1=\"\"q"});
  // Within a cell that does not begin with one it is a character.
  EXPECT_EQ(read("5\",x").lines, Strings{"1: 1=5\"|4=x"});
}

TEST(Csv, ColumnsCountCharacters) {
  EXPECT_EQ(read("\xc3\xa4\xe2\x82\xac,b").lines,
            Strings{"1: 1=\xc3\xa4\xe2\x82\xac|4=b"});
}

TEST(Csv, WhatIsNoneIsReportedAndLeftOut) {
  const Rows rows = read("a\n\"b\n\"c\"d,e\nf\n");
  EXPECT_EQ(rows.lines, (Strings{"1: 1=a", "4: 1=f"}));
  EXPECT_EQ(rows.problems,
            (Strings{"f:2:1: a quote is not closed",
                     "f:3:4: a comma must follow a closed quote"}));
}

}  // namespace
}  // namespace limitree
