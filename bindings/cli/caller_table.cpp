#include "caller_table.hpp"

#include <algorithm>
#include <functional>
#include <random>
#include <utility>

#include "command.hpp"

namespace limitree::cli {

namespace {

void append_varint(std::uint64_t value, std::string* bytes) {
  for (; value >= 0x80; value >>= 7) *bytes += static_cast<char>(value | 0x80);
  *bytes += static_cast<char>(value);
}

std::uint64_t read_varint(const char** at) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*(*at)++);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

std::uint64_t random_number() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace

Candidates::Candidates(std::vector<std::int64_t> periods)
    : periods_ns(std::move(periods)) {
  for (std::size_t i = 0; i < periods_ns.size(); ++i) {
    std::int64_t count = 1;
    for (std::size_t j = 0; j < kPerPeriod; ++j) {
      limits.push_back({i, count, periods_ns[i] / count});
      count = j % 3 == 1 ? count / 2 * 5 : count * 2;
    }
  }
}

UseMeter::UseMeter(const Candidates* candidates)
    : candidates_(candidates),
      states_(candidates->limits.size()),
      windows_(candidates->periods_ns.size()) {}

void UseMeter::reset() {
  std::fill(states_.begin(), states_.end(), State());
  std::fill(windows_.begin(), windows_.end(), Window());
}

void UseMeter::add(std::int64_t now_ns) {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const Candidate& limit = candidates_->limits[i];
    State& state = states_[i];
    const std::int64_t debt = std::min(
        std::max(state.tat - now_ns, std::int64_t{0}) + limit.interval_ns,
        kMaxDebtNs + 1);
    state.tat = now_ns + debt;
    state.most = std::max(state.most, debt);
    const std::int64_t kept =
        std::max(state.kept - now_ns, std::int64_t{0}) + limit.interval_ns;
    const bool fits = kept <= limit.interval_ns * limit.count;
    state.kept = fits ? now_ns + kept : state.kept;
    state.limited += fits ? 0 : 1;
  }
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    Window& window = windows_[i];
    const std::int64_t number = now_ns / candidates_->periods_ns[i];
    if (std::exchange(window.number, number) != number) window.count = 0;
    window.most = std::max(window.most, ++window.count);
  }
}

std::int64_t UseMeter::burst(std::size_t i) const {
  const std::int64_t most = states_[i].most;
  const std::int64_t interval = candidates_->limits[i].interval_ns;
  if (most <= interval) return 1;  // without a slow division
  const bool is_long = most > kMaxDebtNs - interval;
  if (is_long && most > kMaxDebtNs / interval * interval) return kNever;
  return (most + interval - 1) / interval;
}

void CallerUse::add(std::int64_t now_ns, const Candidates& candidates) {
  ++requests_;
  if (meter_ != nullptr) {
    meter_->add(now_ns);
    return;
  }
  const std::int64_t step = now_ns - std::exchange(last_ns_, now_ns);
  const std::int64_t nanos = step % kSecondNs;
  append_varint(
      static_cast<std::uint64_t>(step / kSecondNs) << 1 | (nanos != 0 ? 1 : 0),
      &steps_);
  if (nanos != 0) append_varint(static_cast<std::uint64_t>(nanos), &steps_);
  if (steps_.size() <= kMaxBytes) return;
  auto meter = std::make_unique<UseMeter>(&candidates);
  feed(meter.get());
  meter_ = std::move(meter);
  std::string().swap(steps_);
}

void CallerUse::feed(UseMeter* meter) const {
  std::int64_t now_ns = 0;
  const char* const end = steps_.data() + steps_.size();
  for (const char* at = steps_.data(); at != end;) {
    const std::uint64_t head = read_varint(&at);
    now_ns += static_cast<std::int64_t>(head >> 1) * kSecondNs;
    if ((head & 1) != 0) now_ns += static_cast<std::int64_t>(read_varint(&at));
    meter->add(now_ns);
  }
}

const UseMeter& CallerUse::meter(UseMeter* scratch) const {
  if (meter_ != nullptr) return *meter_;
  scratch->reset();
  feed(scratch);
  return *scratch;
}

// ---- The table --------------------------------------------------------------

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
