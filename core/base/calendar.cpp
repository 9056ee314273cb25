#include "base/calendar.hpp"

#include <algorithm>
#include <array>

namespace limitree {

namespace {

using std::chrono::days;
using std::chrono::seconds;

constexpr std::int64_t kDay = 86'400;

Instant instant_of(std::int64_t second) {
  constexpr std::int64_t kMost = INT64_MAX / 1'000'000'000;
  return Instant(seconds(std::clamp(second, -kMost, kMost)));
}

}  // namespace

// The index of the offset that holds at `second`.
std::size_t Calendar::offset_at(std::int64_t second) const {
  const auto after = std::upper_bound(
      offsets().begin(), offsets().end(), second,
      [](std::int64_t at, const ZoneOffset& one) { return at < one.from; });
  return after == offsets().begin()
             ? 0
             : static_cast<std::size_t>(after - offsets().begin() - 1);
}

Calendar::LocalDay Calendar::first_day(LocalDay day) const {
  switch (unit_) {
    case Unit::kDay:
      break;
    case Unit::kWeek:
      return day - (std::chrono::weekday(day) - std::chrono::Monday);
    case Unit::kMonth: {
      const std::chrono::year_month_day date(day);
      return LocalDay(date.year() / date.month() / 1);
    }
  }
  return day;
}

Calendar::LocalDay Calendar::next_day(LocalDay first) const {
  constexpr std::array<days, 3> kLongest = {days(1), days(7), days(31)};
  return first_day(first + kLongest[static_cast<std::size_t>(unit_)]);
}

// The first second at which a local clock shows midnight of `day` or later.
std::int64_t Calendar::begin(LocalDay day) const {
  const std::int64_t midnight =
      std::int64_t{day.time_since_epoch().count()} * kDay;
  // No local clock is two days off UTC.
  std::size_t i = offset_at(midnight - 2 * kDay);
  for (; i + 1 < offsets().size(); ++i) {
    const std::int64_t at = midnight - offsets()[i].seconds;
    if (at < offsets()[i + 1].from) break;
  }
  const std::int64_t at = midnight - offsets()[i].seconds;
  return i == 0 ? at : std::max(at, offsets()[i].from);
}

Window Calendar::window_at(Instant now) const {
  const std::int64_t second =
      std::chrono::floor<seconds>(now).time_since_epoch().count();
  const std::int64_t local = second + offsets()[offset_at(second)].seconds;
  const std::int64_t day = local / kDay - (local % kDay < 0 ? 1 : 0);
  LocalDay first = first_day(LocalDay(days(day)));
  // If clocks are set back across midnight, the new day has already begun.
  LocalDay next = next_day(first);
  while (begin(next) <= second) {
    first = next;
    next = next_day(first);
  }
  return {instant_of(begin(first)), instant_of(begin(next))};
}

}  // namespace limitree
