#include "tree/id_table.hpp"

#include <cstring>

#include "base/bytes.hpp"

namespace limitree {

namespace {

// The slots for `ids`: at most three of five are taken, which keeps runs of
// taken slots short.
std::size_t slots_for(std::size_t ids) { return ids + ids * 2 / 3 + 1; }

constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;  // 2^64 / golden

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * kMultiplier;
  return hash ^ (hash >> 32);
}

}  // namespace

// Callers cannot slow lookups down by choosing segments: the table holds only
// names of limits.yaml, and is at most half full.
std::uint32_t name_hash(std::string_view name) {
  std::uint64_t hash = name.size();
  while (name.size() > 8) {
    std::uint64_t word;
    std::memcpy(&word, name.data(), 8);
    hash = mix(hash, word);
    name.remove_prefix(8);
  }
  std::uint64_t word = 0;
  if (!name.empty()) std::memcpy(&word, name.data(), name.size());
  return static_cast<std::uint32_t>(mix(mix(hash, word), 0));
}

void IdTable::reserve(std::size_t ids) {
  if (slots_for(ids) > slots_.size()) resize(slots_for(ids));
}

bool IdTable::insert(std::string_view id, std::uint32_t value) {
  if (slots_for(size_ + 1) > slots_.size()) resize(2 * slots_for(size_ + 1));
  const std::uint32_t hash = name_hash(id);
  std::size_t at = home(hash);
  for (; slots_[at].value != kNone; at = at + 1 == slots_.size() ? 0 : at + 1) {
    if (holds(slots_[at], id, hash)) return false;
  }
  Slot& slot = slots_[at];
  slot.value = value;
  slot.size = static_cast<std::uint32_t>(id.size());
  if (id.size() <= kInline) {
    id.copy(slot.bytes, id.size());
  } else {
    slot.elsewhere = {text_.size(), hash};
    text_ += id;
  }
  ++size_;
  return true;
}

void IdTable::finish() {
  const std::size_t needed = slots_for(size_);
  // A smaller gain is not worth a second table for a moment.
  if (slots_.size() - needed > slots_.size() / 4) resize(needed);
  text_.shrink_to_fit();
}

std::uint32_t IdTable::find(std::string_view id) const {
  if (size_ == 0) return kNone;
  const std::uint32_t hash = name_hash(id);
  for (std::size_t at = home(hash);;
       at = at + 1 == slots_.size() ? 0 : at + 1) {
    const Slot& slot = slots_[at];
    if (slot.value == kNone || holds(slot, id, hash)) return slot.value;
  }
}

std::size_t IdTable::bytes() const {
  return slots_.capacity() * sizeof(Slot) + text_.capacity();
}

bool IdTable::holds(const Slot& slot, std::string_view id,
                    std::uint32_t hash) const {
  if (slot.size != id.size()) return false;
  if (id.size() <= kInline) {
    return same_bytes(slot.bytes, id.data(), id.size());
  }
  return slot.elsewhere.hash == hash &&
         std::memcmp(text_.data() + slot.elsewhere.first, id.data(),
                     id.size()) == 0;
}

void IdTable::resize(std::size_t slots) {
  Slots old(slots);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.value == kNone) continue;
    const std::uint32_t hash = slot.size <= kInline
                                   ? name_hash({slot.bytes, slot.size})
                                   : slot.elsewhere.hash;
    std::size_t at = home(hash);
    while (slots_[at].value != kNone) at = at + 1 == slots_.size() ? 0 : at + 1;
    slots_[at] = slot;
  }
}

}  // namespace limitree
