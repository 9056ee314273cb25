#include "store/shared/mapped_cells.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <string>

#include "store/buckets/held_level.hpp"
#include "store/buckets/log_collection.hpp"

namespace limitree {

template class SlotTable<Bucket, shared::MappedLines<Bucket>>;
template class SlotTable<Cell, shared::MappedCells>;
template class MixedLevel<shared::MappedPlace>;

}  // namespace limitree

namespace limitree::shared {

namespace {

// A kill comes between two instructions, so only the compiler has to keep the
// order.
void in_order() { std::atomic_signal_fence(std::memory_order_seq_cst); }

}  // namespace

void MappedCells::write(Cell* cell, const Cell& value) {
  journal_->slot = slot_offset(cell);
  journal_->cell = value;
  in_order();
  journal_->steps = 1;
  in_order();
  *cell = value;
  in_order();
  journal_->steps = 0;
  in_order();
}

void MappedCells::write(Cell* cell, const Cell& value, LogBlock* block,
                        const LogEdit& edit) {
  journal_->slot = slot_offset(cell);
  journal_->cell = value;
  journal_->link = value.log;
  journal_->head = edit.head();
  journal_->place = edit.changed();
  if (edit.changed() != LogEdit::kNone) journal_->entry = edit.entry();
  in_order();
  journal_->steps = 2;
  in_order();
  edit.apply(block);
  *cell = value;
  in_order();
  journal_->steps = 0;
  in_order();
}

void MappedCells::write(Cell* cell, const Cell& value, HoldBlock block,
                        const HoldEdit& edit, const Rate& rate) {
  journal_->slot = slot_offset(cell);
  journal_->cell = value;
  journal_->link = value.log;
  journal_->head = edit.head;
  journal_->place = edit.place;
  journal_->holds.used = edit.used;
  journal_->holds.count = edit.count;
  journal_->holds.hold = edit.hold;
  in_order();
  journal_->steps = 3;
  in_order();
  block.apply(edit, rate);
  *cell = value;
  in_order();
  journal_->steps = 0;
  in_order();
}

void MappedCells::finish() {
  const Journal todo = *journal_;
  const Lines all = lines();
  const std::uint64_t first = all.count == 0 ? 0 : slot_offset(all.slots);
  const std::uint64_t at = todo.slot - first;
  const bool has_place =
      todo.steps >= 1 && todo.steps <= 3 && at % sizeof(Cell) == 0 &&
      at / sizeof(Cell) < std::uint64_t{all.count} * Lines::kSlots;
  if (!has_place) return;
  if (todo.steps > 1) {
    LogBlock* const block = slab_.block_of(todo.link, todo.head);
    if (block == nullptr) return;
    if (todo.steps == 3) {
      block->set_head(todo.head);
      if (HoldBlock holds(block); holds) {
        holds.redo({todo.head, todo.holds.used, todo.holds.count, todo.place,
                    false, todo.holds.hold});
      }
    } else {
      if (todo.place < todo.head.room) block->entry(todo.place) = todo.entry;
      block->set_head(todo.head);
    }
  }
  all.slots[at / sizeof(Cell)] = todo.cell;
}

void MappedCells::repair() {
  finish();
  in_order();
  journal_->steps = 0;
  MappedLines<Cell>::repair();
  slab_.sweep();
  lines().each([this](Cell* cell) {
    if (cell->has_log != 0 && !slab_.keep(cell->log)) cell->forget();
  });
}

// Whether a log fits between those of the request, which are not evicted.
bool MappedPlace::can_fit(std::uint32_t room, const MixedRequest& ask) {
  using Units = LogSlab::Units;
  const LogSlab& slab = cells.memory().slab();
  // It does not throw: blocks that are prepared already would stay taken.
  const std::unique_ptr<Units[]> kept(new (std::nothrow)
                                          Units[ask.tags.size()]);
  if (kept == nullptr) return false;
  Units* last = kept.get();
  for (const std::uint64_t tag : ask.tags) {
    const Cell* const cell = cells.find(tag);
    if (cell == nullptr || cell->has_log == 0) continue;
    const Units units = slab.units_of(cell->log);
    if (units.end != 0) *last++ = units;
  }
  std::sort(kept.get(), last,
            [](const Units& a, const Units& b) { return a.begin < b.begin; });
  std::uint64_t begin = 0;
  for (const Units* one = kept.get(); one != last; ++one) {
    if (begin + LogSlab::units_for(room) <= one->begin) return true;
    begin = std::max(begin, one->end);
  }
  return begin + LogSlab::units_for(room) <= slab.ready();
}

Status MappedPlace::make_log(std::uint32_t room, const MixedRequest& ask,
                             LinkedLog* log) {
  LogSlab& slab = cells.memory().slab();
  *log = slab.make(room);
  // Free units may lie apart, so this may take more than one round.
  std::int64_t bytes = LogBlock::bytes_for(room) + slab.capacity() / 32;
  const bool evicts = log->link == 0 && can_fit(room, ask);
  for (; evicts && log->link == 0 && bytes / 2 <= slab.capacity(); bytes *= 2) {
    LogCollection collection(ask.now, ask.keep);
    collection.look(&cells);
    collection.aim(bytes);
    ask.plan->forgot |= collection.take(&cells);
    *log = slab.make(room);
  }
  if (log->link != 0) return {};
  return Status(Error{
      Code::kStoreUnavailable,
      {"there is no room for a log of " +
       std::to_string(LogBlock::bytes_for(room)) + " bytes in the " +
       std::to_string(slab.capacity()) +
       " of its shard: the disk is full, or max_bytes was too small when the "
       "file was made"},
      "shm_full"});
}

void repair(MappedFile* file, std::uint32_t shard) {
  ShardWords* const words =
      reinterpret_cast<ShardWords*>(file->at(file->layout().shards)) + shard;
  MappedLines<Bucket>(file, &words->buckets, file->layout().buckets_of(shard),
                      file->sizes().bucket_lines)
      .repair();
  MappedCells(file, words, shard).repair();
}

}  // namespace limitree::shared
