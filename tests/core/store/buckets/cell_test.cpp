#include "store/buckets/cell.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace limitree::cell_test {
namespace {

TEST(Cell, DeniesIfTheNextRequestDoesNotFit) {
  Cell cell{};
  cell.set_used(3, 1, 4);
  EXPECT_LT(cell.part, Cell::kDenies);
  for (const std::int64_t cost : {std::int64_t{2}, INT64_MAX}) {
    cell.part = 0;
    cell.set_used(3, cost, 4);
    EXPECT_EQ(cell.part, Cell::kDenies) << cost;
  }
}

}  // namespace
}  // namespace limitree::cell_test
