// A bucket that holds units, as SPEC tells it in prose: a list of holds, and
// time that goes from one end to the next.  Slow, and without pages or blocks.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/hold.hpp"
#include "base/limit.hpp"

namespace limitree {

class HeldModel {
 public:
  explicit HeldModel(const Limit& limit) : limit_(limit) {}

  // A request comes.  What has ended counts in its window, unless units of an
  // earlier one are known.
  void meet(std::int64_t now) {
    if (is_window() && used_ == 0) start_ = now - now % period();
    go_to(now);
  }

  // Brings to book what has ended.
  void go_to(std::int64_t now) {
    while (!holds_.empty() && end_of(holds_[0]) <= now) {
      const Hold ended = holds_[0];
      holds_.erase(holds_.begin());
      if (!limit_.rules->frees) charge(ended.units, end_of(ended));
    }
    now_ = now;
    roll(now);
  }

  bool fits(std::int64_t cost) const {
    return cost == 0 || (cost <= capacity() && taken() + cost <= capacity());
  }
  std::int64_t remaining() const {
    return std::max(capacity() - taken(), std::int64_t{0});
  }

  // -1: never.
  std::int64_t wait(std::int64_t cost) const {
    if (cost > capacity()) return -1;
    HeldModel later = *this;
    while (!later.fits(cost)) later.go_to(later.next(cost));
    return later.now_ - now_;
  }
  std::int64_t reset_after() const {
    HeldModel later = *this;
    if (!holds_.empty()) later.go_to(end_of(holds_.back()));
    std::int64_t rest = 0;
    if (is_gcra()) rest = later.debt();
    if (is_window() && later.used_ > 0) {
      rest = later.start_ + period() - later.now_;
    }
    return later.now_ - now_ + rest;
  }

  void charge(std::int64_t units) { charge(units, now_); }
  void hold(HoldId id, std::int64_t units, std::int64_t end) {
    holds_.push_back({id, Instant(Duration(end)), units});
    std::ranges::sort(holds_, ends_before);
  }
  std::optional<Hold> take(HoldId id) {
    const auto found = std::ranges::find(holds_, id, &Hold::id);
    if (found == holds_.end()) return std::nullopt;
    const Hold taken = *found;
    holds_.erase(found);
    return taken;
  }
  std::size_t size() const { return holds_.size(); }

 private:
  static std::int64_t end_of(const Hold& hold) {
    return hold.end.time_since_epoch().count();
  }
  bool is_gcra() const { return limit_.algorithm == Algorithm::kGcra; }
  bool is_window() const { return limit_.algorithm == Algorithm::kFixedWindow; }
  std::int64_t capacity() const { return limit_.rate.capacity; }
  std::int64_t period() const { return limit_.period.count(); }
  std::int64_t interval() const {
    return limit_.rate.emission_interval.count();
  }
  std::int64_t debt() const {
    return std::clamp(tat_ - now_, std::int64_t{0}, interval() * capacity());
  }
  std::int64_t held() const {
    std::int64_t units = 0;
    for (const Hold& hold : holds_) units += hold.units;
    return units;
  }
  // In units, rounded up.
  std::int64_t taken() const {
    if (is_gcra()) return held() + (debt() + interval() - 1) / interval();
    return held() + (is_window() ? used_ : 0);
  }

  void roll(std::int64_t at) {
    const std::int64_t start = at - at % period();
    if (!is_window() || start <= start_) return;
    start_ = start;
    used_ = 0;
  }
  void charge(std::int64_t units, std::int64_t at) {
    if (is_gcra()) {
      const std::int64_t burst = interval() * capacity();
      tat_ = at + std::min(std::max(tat_ - at, std::int64_t{0}) +
                               interval() * std::min(units, capacity()),
                           burst);
    } else if (is_window()) {
      roll(at);
      used_ = std::min(used_ + units, capacity());
    }
  }
  // The next instant at which more may fit: an end, or before it the time at
  // which the rest has drained.
  std::int64_t next(std::int64_t cost) const {
    std::int64_t at = INT64_MAX;
    if (is_gcra() && held() + cost <= capacity()) {
      at = now_ + debt() - interval() * (capacity() - held() - cost);
    } else if (is_window() && used_ > 0) {
      at = start_ + period();
    }
    return holds_.empty() ? at : std::min(at, end_of(holds_[0]));
  }

  const Limit& limit_;
  std::int64_t now_ = 0;
  std::int64_t tat_ = INT64_MIN / 2;
  std::int64_t start_ = 0;
  std::int64_t used_ = 0;
  std::vector<Hold> holds_;  // in the order of their ends
};

}  // namespace limitree
