#include "store/memcached/item_buckets.hpp"

#include <algorithm>

#include "store/buckets/held_level.hpp"

namespace limitree {

template class MixedLevel<memcached::ItemBucket::Place>;

}  // namespace limitree

namespace limitree::memcached {

namespace {

// Any but 0, which marks a slot that was never used.
constexpr std::uint64_t kTag = ~std::uint64_t{0};

constexpr std::uint32_t kMoreEntries = 2;

// Of what limits hold, plus some: more would be a damaged item.
std::uint64_t load_log(const Field& field) {
  const auto count = static_cast<std::uint32_t>(field.entries.size());
  const std::uint64_t link = CellMemory::make_log(count + kMoreEntries);
  LogBlock* const block = CellMemory::block(link);
  LogBlock::Head head = block->head();
  head.size = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    block->entry(i) = field.entries[i];
    head.sum += field.entries[i].units();
  }
  block->set_head(head);
  return link;
}

std::uint64_t load_holds(const Field& field) {
  const auto count = static_cast<std::uint32_t>(field.holds.size());
  const std::uint64_t link =
      CellMemory::make_log(HoldBlock::room_for(std::max(count, 1U)));
  HoldBlock(CellMemory::block(link)).load(field.holds, field.current);
  return link;
}

// Of a cell of GCRA.
Instant tat_of(const Field& field, const Rate& rate, Instant now) {
  const Instant tat{Duration(field.start)};
  std::int64_t held = 0;
  for (const Hold& hold : field.holds) {
    held = std::min(held + std::int64_t{hold.units}, rate.capacity);
  }
  if (held == 0) return tat;
  return std::min(
      saturating_add(std::max(tat, now), rate.emission_interval * held),
      saturating_add(now, rate.burst_offset()));
}

void save_log(const LogBlock& block, Field* field) {
  const LogBlock::Head& head = block.head();
  field->entries.clear();
  field->entries.reserve(head.size);
  for (std::uint32_t i = 0; i < head.size; ++i) {
    field->entries.push_back(block.entry(head.first + i));
  }
}

void save_holds(const HoldBlock& block, Field* field) {
  const HoldView view = block.view({});
  field->current = block.used();
  field->holds.clear();
  field->holds.reserve(view.count);
  for (std::uint32_t i = view.first; i < view.end; ++i) {
    if (view.holds[i].units > 0) field->holds.push_back(view.holds[i]);
  }
}

}  // namespace

std::uint64_t CellMemory::make_log(std::uint32_t room) {
  void* const memory =
      ::operator new(static_cast<std::size_t>(LogBlock::bytes_for(room)));
  return reinterpret_cast<std::uintptr_t>(new (memory) LogBlock(room));
}

ItemBucket::~ItemBucket() {
  if (Cell* const cell = cells_.find(kTag)) CellMemory::discard(cell);
}

void ItemBucket::load(const Field& field, const Limit& limit, Instant now) {
  if (field.kind == Field::Kind::kTat && !limit.holds()) {
    buckets_.insert({kTag, field.over}, {}, {});
    return;
  }
  if (limit.algorithm == Algorithm::kGcra && !limit.holds()) {
    buckets_.insert({kTag, tat_of(field, limit.rate, now)}, {}, {});
    return;
  }
  Cell cell{};
  cell.tag = kTag;
  if (field.kind == Field::Kind::kTat) {
    cell.set_over(ceil_micros(field.over));
    cell.start = field.over.time_since_epoch().count();
    cell.units = {1, 0};
    cells_.insert(cell, {}, {});
    return;
  }
  cell.set_over(field.over);
  cell.start = field.start;
  cell.units = {field.current, field.previous};
  cell.has_tail =
      field.kind == Field::Kind::kTail || field.kind == Field::Kind::kHolds;
  if (field.kind == Field::Kind::kLog) cell.log = load_log(field);
  if (field.kind == Field::Kind::kHolds) cell.log = load_holds(field);
  cell.has_log =
      field.kind == Field::Kind::kLog || field.kind == Field::Kind::kHolds;
  cells_.insert(cell, {}, {});
}

bool ItemBucket::save(bool is_cell, Instant now, Field* field) {
  if (!is_cell) {
    const Bucket* const bucket = buckets_.find(kTag);
    if (bucket == nullptr || bucket->is_over(now)) return false;
    field->kind = Field::Kind::kTat;
    field->over = bucket->tat;
    field->holds.clear();
    return true;
  }
  const Cell* const cell = cells_.find(kTag);
  if (cell == nullptr || cell->is_over(now)) return false;
  field->over = cell->over();
  field->start = cell->start;
  if (cell->has_holds()) {
    field->kind = Field::Kind::kHolds;
    save_holds(HoldBlock(CellMemory::block(cell->log)), field);
  } else if (cell->has_log != 0) {
    field->kind = Field::Kind::kLog;
    save_log(*CellMemory::block(cell->log), field);
  } else {
    field->kind =
        cell->has_tail != 0 ? Field::Kind::kTail : Field::Kind::kCounts;
    field->current = cell->units.current;
    field->previous = cell->units.previous;
  }
  return true;
}

}  // namespace limitree::memcached
