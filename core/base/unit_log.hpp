// sliding_log and sliding_window: when each unit was admitted.
//
// A sliding_log has an entry for each instant.  A unit counts until a whole
// period has passed: exact, with at most as many entries as units.  A
// sliding_window joins the units of one sub-window, counted from the epoch,
// into one entry with the instant of the last unit.  So units count for up to
// one sub-window longer, never shorter, in at most buckets + 2 entries.
//
// State: the entries, oldest first.  The caller keeps them, and they may be too
// many to copy.  So a request is first compared with them; its change is
// written after all levels have agreed.

#pragma once

#include <algorithm>
#include <cstdint>

#include "base/demand.hpp"
#include "base/limit.hpp"
#include "base/time.hpp"

namespace limitree {

// In 12 bytes, because there may be many entries.
class LogEntry {
 public:
  LogEntry() = default;
  LogEntry(Instant at, std::int64_t units) : units_(to_units(units)) {
    set_at(at);
  }

  Instant at() const {
    // Wraps around for times that no clock shows, but that a damaged file may
    // hold.
    const std::uint64_t ns = (std::uint64_t{high_} << 32 | low_) * 1000;
    return Instant(Duration(static_cast<std::int64_t>(ns)));
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

// If the clock stepped back, entries dated after now count as of now.
//
// `Entries` stores them: size(), operator[], push_back(), pop_back(),
// pop_front(), change_last(), which changes the instant and the units of the
// last entry, and sum() of the units.
template <typename Entries>
class Log {
 public:
  // `join` is the width of a sub-window, or zero.  *entries does not change
  // before write(): a request that only looks leaves no trace.
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

  // When at most `most` units are in use, after `more` units are added now or,
  // if `more` is negative, the newest -`more` are removed.
  Instant until(std::int64_t most, std::int64_t more) const {
    std::int64_t over = used() + more - most;
    if (over <= 0) return kLongAgo;
    if (most == 0 && more > 0) return left_at(now_);
    if (most == 0 && more == 0) return left_at(std::min(last_at(), now_));
    const std::size_t size = entries_.size();
    for (std::size_t i = first_; i < size; ++i) {
      // What is added may join the last entry.
      if (i + 1 == size && more > 0 && joins_last()) break;
      over -= entries_[i].units();
      if (over <= 0) return left_at(std::min(entries_[i].at(), now_));
    }
    return left_at(now_);
  }

  // Adds `more` units, or gives back the newest -`more`.  Removes the entries
  // that have left the window.
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
    // Whether both are in one sub-window, with at most one division.
    return gap < join_ && last_at() - floor_to(last_at(), join_) + gap < join_;
  }

  // They do not join an older entry, because no answer has announced that the
  // older entry stays longer.
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

  // Removes the newest units first.
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

// Compares `demand` with a log without changing the log.  Sets *more to the
// units to add if the level is charged; negative: to give back.
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
