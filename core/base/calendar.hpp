// Calendar windows: a day, a week or a month, as local clocks show them.
//
// A window begins at the first instant when a local clock shows midnight of its
// first day or later.  It ends where the next window begins.  So a day can have
// 23 or 25 hours, and a day whose midnight is skipped begins at one o'clock.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fixed_window.hpp"
#include "base/limit.hpp"
#include "base/time.hpp"

namespace limitree {

// From `from` on, local clocks are this many seconds ahead of UTC.
struct ZoneOffset {
  std::int64_t from;  // seconds since 1970-01-01 UTC
  std::int32_t seconds;
};

// In ascending order; the first one also holds before its start.  Calendars of
// one zone share it.
using ZoneOffsets = std::shared_ptr<const std::vector<ZoneOffset>>;

class Calendar {
 public:
  enum class Unit : std::uint8_t { kDay, kWeek, kMonth };  // weeks: from Monday

  // REQUIRES: `offsets` is not empty.
  Calendar(std::string zone, Unit unit, ZoneOffsets offsets)
      : zone_(std::move(zone)), unit_(unit), offsets_(std::move(offsets)) {}

  Window window_at(Instant now) const;

  const std::string& zone() const { return zone_; }
  Unit unit() const { return unit_; }

 private:
  using LocalDay = std::chrono::sys_days;  // as if local time were UTC

  const std::vector<ZoneOffset>& offsets() const { return *offsets_; }
  std::size_t offset_at(std::int64_t second) const;
  LocalDay first_day(LocalDay day) const;
  LocalDay next_day(LocalDay first) const;
  std::int64_t begin(LocalDay day) const;

  std::string zone_;
  Unit unit_;
  ZoneOffsets offsets_;
};

// The bucket of `limit`, a fixed_window, in the window that contains `now`.
inline FixedWindow fixed_window_of(const FixedWindow::State& state,
                                   const Limit& limit, Instant now) {
  switch (limit.rules->align) {
    case Align::kFirst:
      return FixedWindow::from_first(state, limit.period, now);
    case Align::kCalendar:
      return {state, limit.rules->calendar->window_at(now)};
    case Align::kEpoch:
      break;
  }
  return {state, epoch_window(now, limit.period)};
}

}  // namespace limitree
