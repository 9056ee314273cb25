// sliding_log and sliding_window: which units were admitted when.
//
// A log has an entry for each instant, and a unit counts until a whole period
// has passed since: exact, for as many entries as units at most.  The log of a
// sliding_window joins units of one sub-window, counted from the epoch, into
// one entry with the instant of the last of them; so they count for up to a
// sub-window longer, never shorter, in buckets + 2 entries at most.
//
// State: the entries, oldest first.  They are the caller's to keep, and may be
// too many to be copied: so a request is compared with them first, and what
// it adds or gives back is written when all levels are known to agree.

#ifndef LIMITREE_BASE_UNIT_LOG_HPP
#define LIMITREE_BASE_UNIT_LOG_HPP

#include <algorithm>
#include <cstdint>

#include "base/demand.hpp"
#include "base/limit.hpp"
#include "base/micros.hpp"
#include "base/time.hpp"

namespace limitree {

// In 12 bytes, for there may be many of them.
class LogEntry {
 public:
  LogEntry() = default;
  LogEntry(Instant at, std::int64_t units) : units_(to_units(units)) {
    set_at(at);
  }

  Instant at() const {
    const auto micros =
        static_cast<std::int64_t>(std::uint64_t{high_} << 32 | low_);
    return Instant(micros * kMicrosecond);
  }
  std::int64_t units() const { return units_; }
  void change(Instant at, std::int64_t more) {
    set_at(at);
    units_ = to_units(units_ + more);
  }

 private:
  void set_at(Instant at) {
    const auto micros =
        static_cast<std::uint64_t>(at.time_since_epoch() / kMicrosecond);
    low_ = static_cast<std::uint32_t>(micros);
    high_ = static_cast<std::uint32_t>(micros >> 32);
  }
  static std::uint32_t to_units(std::int64_t units) {
    return static_cast<std::uint32_t>(units);  // kMaxUnits fits
  }

  std::uint32_t low_;
  std::uint32_t high_;
  std::uint32_t units_;
};

// Entries of a later instant than now, for the clock has stepped back, are of
// now.
//
// `Entries` keeps them: size(), operator[], push_back(), pop_back(),
// pop_front(), change_last() to another instant and by so many units, and sum()
// of their units.
template <typename Entries>
class Log {
 public:
  // `join` is the width of a sub-window, or zero.  *entries stays as it is
  // until write(): whoever only looks leaves nothing behind.
  Log(Entries* entries, Duration period, Duration join, Instant now)
      : entries_(*entries),
        period_(period),
        join_(join),
        now_(ceil_micros(now)),
        used_(entries->sum()) {
    while (first_ < entries_.size() &&
           saturating_add(entries_[first_].at(), period) <= now) {
      used_ -= entries_[first_++].units();
    }
    ahead_ = first_ < entries_.size() && newest().at() > now_;
  }

  std::int64_t used() const { return used_; }
  bool is_ahead() const { return ahead_; }
  std::size_t first() const { return first_; }  // of the entries that count

  // When at most so many are used, with `more` units of now added before, or
  // less the newest -`more`.
  Instant until(std::int64_t most, std::int64_t more) const {
    std::int64_t over = used() + more - most;
    if (over <= 0) return kLongAgo;
    if (most == 0 && more > 0) return left_at(now_);
    if (most == 0 && more == 0) return left_at(std::min(last_at(), now_));
    const std::size_t size = entries_.size();
    for (std::size_t i = first_; i < size; ++i) {
      // The last one may be joined by what is added.
      if (i + 1 == size && more > 0 && joins_last()) break;
      over -= entries_[i].units();
      if (over <= 0) return left_at(std::min(entries_[i].at(), now_));
    }
    return left_at(now_);
  }

  // Adds `more` units, or gives back the newest -`more`, and removes what has
  // left the window.
  void write(std::int64_t more) {
    for (; first_ > 0; --first_) entries_.pop_front();
    if (is_ahead()) move_to_now();
    if (more > 0) add(more);
    if (more < 0) remove(-more);
  }

 private:
  const LogEntry& newest() const { return entries_[entries_.size() - 1]; }
  Instant last_at() const { return std::min(newest().at(), now_); }
  Instant left_at(Instant at) const { return saturating_add(at, period_); }

  bool joins_last() const {
    if (first_ == entries_.size()) return false;
    const Duration gap = now_ - last_at();
    if (join_ == Duration::zero()) return gap == Duration::zero();
    // Whether both are in one sub-window, with one division at most.
    return gap < join_ && last_at() - floor_to(last_at(), join_) + gap < join_;
  }

  // They join no older entry: nobody has been told that it stays for longer.
  void move_to_now() {
    std::int64_t units = 0;
    while (entries_.size() > 0 && newest().at() > now_) {
      units += newest().units();
      entries_.pop_back();
    }
    entries_.push_back({now_, units});
  }

  void add(std::int64_t units) {
    if (joins_last()) {
      entries_.change_last(now_, units);
    } else {
      entries_.push_back({now_, units});
    }
  }

  // The newest first.
  void remove(std::int64_t units) {
    while (units > 0 && entries_.size() > 0) {
      const std::int64_t last = newest().units();
      if (last > units) {
        entries_.change_last(last_at(), -units);
        break;
      }
      units -= last;
      entries_.pop_back();
    }
  }

  Entries& entries_;
  Duration period_;
  Duration join_;
  Instant now_;
  std::int64_t used_;
  std::size_t first_ = 0;
  bool ahead_ = false;
};

// Compares `demand` with a log, and does not change the log; *more is set to
// the units that are to be added if the level is charged, or given back if < 0.
template <typename Entries>
Usage evaluate(const Demand& demand, const Log<Entries>& log,
               std::int64_t* more) {
  Usage usage = usage_of(demand, log.used());
  const auto side = [&](std::int64_t added) -> Usage::Side {
    const std::int64_t used = log.used() + added;
    const auto wait = [&](std::int64_t most) {
      return wait_until(log.until(most, added), demand.now);
    };
    return {used, wait(0), fits_after(demand, wait),
            grows_after(demand, used, wait)};
  };
  *more = units_moved(demand, log.used());
  usage.ahead = log.is_ahead();
  usage.left = side(0);
  usage.changes = *more != 0;
  usage.charged = usage.changes ? side(*more) : usage.left;
  return usage;
}

}  // namespace limitree

#endif  // LIMITREE_BASE_UNIT_LOG_HPP
