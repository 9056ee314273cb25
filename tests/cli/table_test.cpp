#include "table.hpp"

#include <gtest/gtest.h>

namespace limitree::cli {
namespace {

TEST(Table, AlignsColumns) {
  Table table;
  table.add_columns(Align::kLeft, {"name"});
  table.add_columns(Align::kRight, {"count"});
  table.add_row({{"a"}, {"1"}});
  table.add_row({{"longer"}, {"1,000,000"}});
  EXPECT_EQ(table.width(), 17U);
  EXPECT_EQ(table.text(Terminal()),
            "name        count\n"
            "a               1\n"
            "longer  1,000,000\n");
}

TEST(Table, TitlesStandAboveTheirGroups) {
  Table table;
  table.add_columns(Align::kRight, {"#"});
  table.add_group("first", 2);
  table.add_columns(Align::kRight, {"a", "b"});
  table.add_group("2", 1);
  table.add_columns(Align::kRight, {"c"});
  table.add_row({{"1"}, {"2"}, {"3"}, {"4"}});
  EXPECT_EQ(table.text(Terminal()),
            "     first    2\n"
            "#    a  b     c\n"
            "1    2  3     4\n");
}

TEST(Table, ShortRowsAndUtf8) {
  Table table;
  table.add_columns(Align::kRight, {"a", "b"});
  table.add_row({{"\xc3\xa4\xc3\xa4"}});
  table.add_row({{"x"}, {"y"}});
  EXPECT_EQ(table.text(Terminal()), " a  b\n\xc3\xa4\xc3\xa4\n x  y\n");
  EXPECT_EQ(table.body(Terminal()), "\xc3\xa4\xc3\xa4\n x  y\n");
}

TEST(Table, ColourTakesNoRoom) {
  Terminal terminal;
  terminal.colour = true;
  Table table;
  table.add_columns(Align::kRight, {"", ""});
  table.add_row({{"1", Colour::kRed}, {"22"}});
  table.add_row({{"333"}, {"4"}});
  EXPECT_EQ(table.body(terminal), "  \033[31m1\033[0m  22\n333   4\n");
}

}  // namespace
}  // namespace limitree::cli
