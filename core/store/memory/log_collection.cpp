#include "store/memory/log_collection.hpp"

#include <algorithm>

namespace limitree {

bool LogCollection::may_go(const Cell& cell) const {
  return cell.has_log != 0 && !cell.is_over(now_) &&
         std::ranges::find(keep_, cell.tag) == keep_.end();
}

void LogCollection::look(CellTable* table) {
  table->each([this](Cell* cell) {
    if (cell->is_over(now_)) {
      cell->discard();
    } else if (may_go(*cell)) {
      bytes_[cell->rank(now_)] += cell->log->bytes();
    }
  });
}

void LogCollection::aim(std::int64_t bytes) {
  of_last_ = bytes;
  last_ = 0;
  while (last_ + 1 < bytes_.size() && bytes_[last_] < of_last_) {
    of_last_ -= bytes_[last_++];
  }
}

bool LogCollection::take(CellTable* table) {
  const std::int64_t before = table->forgotten_limited();
  table->each([this, table](Cell* cell) {
    if (!may_go(*cell)) return;
    const std::size_t rank = cell->rank(now_);
    if (rank > last_ || (rank == last_ && of_last_ <= 0)) return;
    if (rank == last_) of_last_ -= cell->log->bytes();
    table->evict(cell, now_);
  });
  return table->forgotten_limited() != before;
}

}  // namespace limitree
