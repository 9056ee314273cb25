#include "store/shared/log_slab.hpp"

#include <algorithm>
#include <new>

#include "base/limit.hpp"

namespace limitree::shared {

// Never more than the file has, whatever its bytes say.
std::uint32_t LogSlab::ready() const {
  return std::min(words_->log_ready, total());
}

std::uint64_t* LogSlab::map() const {
  return reinterpret_cast<std::uint64_t*>(
      file_->at(file_->layout().map_of(shard_)));
}

bool LogSlab::is_taken(std::uint64_t unit) const {
  return (map()[unit / 64] >> unit % 64 & 1) != 0;
}

void LogSlab::mark(std::uint64_t first, std::uint64_t count, bool taken) {
  for (std::uint64_t unit = first; unit < first + count; ++unit) {
    const std::uint64_t bit = std::uint64_t{1} << unit % 64;
    if (taken) {
      map()[unit / 64] |= bit;
    } else {
      map()[unit / 64] &= ~bit;
    }
  }
}

// Returns the first of `count` free units, or ready().
std::uint64_t LogSlab::find(std::uint64_t count) const {
  const std::uint64_t end = ready();
  std::uint64_t free = 0;
  for (std::uint64_t unit = words_->log_free; unit < end; ++unit) {
    if (unit % 64 == 0 && map()[unit / 64] == ~std::uint64_t{0}) {
      unit += 63;
      free = 0;
    } else if (is_taken(unit)) {
      free = 0;
    } else if (++free == count) {
      return unit + 1 - count;
    }
  }
  return end;
}

// Makes `count` more units ready, or a quarter of those there are, or all that
// are left.
bool LogSlab::grow(std::uint64_t count) {
  constexpr std::uint64_t kLeast = 4 * kPage / kLogUnit;
  const Layout& layout = file_->layout();
  const std::uint64_t now = ready();
  if (now == total()) return false;
  if (now == 0 && !file_->take(layout.map_of(shard_), layout.map_bytes)) {
    return false;
  }
  const std::uint64_t more = std::min<std::uint64_t>(
      std::max({count, now / 4, kLeast}), total() - now);
  if (!file_->take(layout.slab_of(shard_) + now * kLogUnit, more * kLogUnit)) {
    return false;
  }
  words_->log_ready = static_cast<std::uint32_t>(now + more);
  return true;
}

LinkedLog LogSlab::make(std::uint32_t room) {
  const std::uint64_t count = units_for(room);
  if (count > total()) return {};
  std::uint64_t first = find(count);
  if (first == ready()) {
    if (!grow(count)) return {};
    first = find(count);
    if (first == ready()) return {};
  }
  mark(first, count, true);
  if (words_->log_free == first) {
    words_->log_free = static_cast<std::uint32_t>(first + count);
  }
  std::byte* const place =
      file_->at(file_->layout().slab_of(shard_) + first * kLogUnit);
  return {first + 1, new (place) LogBlock(room)};
}

LogBlock* LogSlab::at(std::uint64_t link) const {
  if (link == 0 || link > ready()) return nullptr;
  return reinterpret_cast<LogBlock*>(
      file_->at(file_->layout().slab_of(shard_) + (link - 1) * kLogUnit));
}

LogBlock* LogSlab::block(std::uint64_t link) const {
  LogBlock* const block = at(link);
  return block == nullptr ? nullptr : block_of(link, block->head());
}

LogBlock* LogSlab::block_of(std::uint64_t link,
                            const LogBlock::Head& head) const {
  LogBlock* const block = at(link);
  if (block == nullptr || head.room != block->head().room ||
      units_for(head.room) > ready() - (link - 1) ||
      std::uint64_t{head.first} + head.size > head.room || head.sum < 0 ||
      head.sum > 4 * kMaxUnits) {
    return nullptr;
  }
  return block;
}

LogSlab::Units LogSlab::units_of(std::uint64_t link) const {
  const LogBlock* const block = this->block(link);
  if (block == nullptr) return {};
  return {link - 1, link - 1 + units_for(block->head().room)};
}

void LogSlab::free(std::uint64_t link) {
  const Units gone = units_of(link);
  if (gone.end == 0) return;
  mark(gone.begin, gone.end - gone.begin, false);
  words_->log_free =
      std::min(words_->log_free, static_cast<std::uint32_t>(gone.begin));
}

void LogSlab::sweep() {
  words_->log_free = 0;
  std::fill_n(map(), (ready() + 63) / 64, std::uint64_t{0});
}

bool LogSlab::keep(std::uint64_t link) {
  const Units kept = units_of(link);
  if (kept.end == 0) return false;
  for (std::uint64_t unit = kept.begin; unit < kept.end; ++unit) {
    if (is_taken(unit)) return false;
  }
  mark(kept.begin, kept.end - kept.begin, true);
  return true;
}

}  // namespace limitree::shared
