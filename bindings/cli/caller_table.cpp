#include "caller_table.hpp"

#include <functional>
#include <random>
#include <utility>

namespace limitree::cli {

namespace {

std::uint64_t random_number() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace

CallerTable::CallerTable(const Candidates* candidates, std::size_t max_callers)
    : candidates_(candidates),
      max_callers_(max_callers),
      secret_(random_number()),
      slots_(64) {}

// Equal logs give equal samples, so this has no secret.
bool CallerTable::is_kept(std::uint64_t hash) const {
  return halvings_ == 0 || hash * 0xd6e8feb86659fd93u >> (64 - halvings_) == 0;
}

std::uint32_t CallerTable::tag_of(std::uint64_t hash) const {
  return static_cast<std::uint32_t>((hash ^ secret_) * 0x9e3779b97f4a7c15u >>
                                    32);
}

CallerTable::Caller* CallerTable::find(std::uint64_t hash) {
  const std::uint32_t tag = tag_of(hash);
  for (std::size_t i = tag;; ++i) {
    const Slot& slot = slots_[i & (slots_.size() - 1)];
    if (slot.number == 0) return nullptr;
    if (slot.tag != tag) continue;
    Caller& caller = at(slot.number);
    if (caller.hash == hash) return &caller;
  }
}

// Puts a slot into the first free place from its tag on.
void CallerTable::put(Slot slot) {
  std::size_t i = slot.tag;
  while (slots_[i & (slots_.size() - 1)].number != 0) ++i;
  slots_[i & (slots_.size() - 1)] = slot;
}

CallerTable::Caller* CallerTable::insert(Caller caller) {
  if (3 * (size_ + 1) > 2 * slots_.size()) {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number != 0) put(slot);
    }
  }
  if (size_ % kChunk == 0) chunks_.emplace_back().reserve(kChunk);
  ++size_;
  put({tag_of(caller.hash), static_cast<std::uint32_t>(size_)});
  return &chunks_.back().emplace_back(std::move(caller));
}

void CallerTable::halve() {
  ++halvings_;
  std::vector<std::vector<Caller>> old;
  old.swap(chunks_);
  slots_.assign(slots_.size(), {});
  size_ = 0;
  for (std::vector<Caller>& chunk : old) {
    for (Caller& caller : chunk) {
      if (is_kept(caller.hash)) insert(std::move(caller));
    }
    std::vector<Caller>().swap(chunk);
  }
}

void CallerTable::add(std::string_view name, std::int64_t now_ns) {
  ++requests_;
  const std::uint64_t hash = std::hash<std::string_view>()(name);
  if (!is_kept(hash)) return;
  Caller* caller = find(hash);
  if (caller == nullptr) {
    caller = insert({hash, {}, std::string(name.substr(0, kMaxName))});
  }
  caller->use.add(now_ns, *candidates_);
  while (size_ > max_callers_ && halvings_ < 60) halve();
}

}  // namespace limitree::cli
