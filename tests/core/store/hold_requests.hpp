// Random reservations, settlements and all other operations on limits with and
// without `hold`, for tests that compare two stores.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/calendar.hpp"
#include "base/judge.hpp"
#include "base/plan.hpp"
#include "core/store/manual_clock.hpp"

namespace limitree::hold_requests {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Shape {
  Algorithm algorithm;
  std::int64_t count;
  Duration period;
  Duration hold{};
  bool frees = false;
  Mode mode = Mode::kEnforce;
  bool by_calendar = false;
};

inline constexpr Algorithm kGcra = Algorithm::kGcra;
inline constexpr Algorithm kWindow = Algorithm::kFixedWindow;

inline const Shape kShapes[] = {
    {kGcra, 700, seconds(60), seconds(30)},
    {kGcra, 91, seconds(7), seconds(9), true},
    {kGcra, 7, seconds(10), seconds(3), false, Mode::kShadow},
    {kWindow, 500, seconds(10), seconds(35)},
    {kWindow, 60, milliseconds(500), seconds(14), false},
    {kWindow, 60, seconds(10), seconds(4), true},
    {kWindow, 400, hours(24), hours(20), false, Mode::kEnforce, true},
    {kWindow, 300, hours(24), hours(24), true, Mode::kEnforce, true},
    {Algorithm::kConcurrent, 300, seconds(20), seconds(20), true},
    {Algorithm::kConcurrent, 5, seconds(20), seconds(20), true, Mode::kCheck},
    {kGcra, 50, seconds(20), seconds(20), false, Mode::kCheck},
    {kGcra, 400, seconds(9)},
    {kWindow, 1000, seconds(5)},
    {Algorithm::kSlidingLog, 200, seconds(3)},
};

// `share`: of a limit that was changed.
inline Limit limit_of(const Shape& shape, std::uint32_t index,
                      std::int64_t share) {
  Limit limit;
  limit.algorithm = shape.algorithm;
  limit.count = std::max(shape.count / share, std::int64_t{1});
  limit.period = shape.period;
  limit.rate = make_rate(limit.count, shape.period, limit.count).value();
  limit.mode = shape.mode;
  limit.index = index;
  limit.cost = index % 5 == 3 ? 2 : 1;
  limit.suffix = traits_of(shape.algorithm).suffix;
  if (shape.algorithm == kGcra && shape.hold == Duration::zero()) return limit;
  Rules rules;
  rules.hold = shape.hold;
  rules.frees = shape.frees;
  if (shape.by_calendar) {
    rules.align = Align::kCalendar;
    // An hour is skipped and repeated, on days in spring and autumn of 2025.
    rules.calendar = std::make_shared<const Calendar>(
        "UTC", Calendar::Unit::kDay,
        std::make_shared<const std::vector<ZoneOffset>>(std::vector<ZoneOffset>{
            {0, 0}, {1750302000, 3600}, {1750600000, 0}}));
  }
  limit.rules = std::make_shared<const Rules>(std::move(rules));
  return limit;
}

inline std::string text_of(const Plan& plan) {
  std::string text = "operation " +
                     std::to_string(static_cast<int>(plan.operation)) +
                     (plan.denied ? " denied" : "");
  for (const Level& level : plan.levels) {
    const Verdict& verdict = level.verdict;
    text += "\n  " + std::to_string(level.limit->index) + " " +
            std::string(traits_of(level.limit->algorithm).name) + " cost " +
            std::to_string(level.cost) + ": " +
            (verdict.limited ? "limited" : "allowed") +
            (verdict.charged ? " charged" : "");
    for (const std::int64_t number :
         {verdict.remaining, verdict.retry_after.count(),
          verdict.reset_after.count(), verdict.next_after.count(),
          plan.wants_growth ? grows_after(level).count() : 0}) {
      text += " " + std::to_string(number);
    }
    if (level.limit->is_plain()) continue;
    text += " after " + std::to_string(level.before);
    if (!level.limit->holds()) continue;
    text += level.crowded ? " crowded" : "";
    text += " ended " + std::to_string(level.ended);
  }
  if (plan.found == nullptr) return text;
  std::vector<FoundHold> found = *plan.found;
  std::ranges::sort(found, {}, [](const FoundHold& hold) {
    return std::tuple(hold.level, hold.ends_after, hold.id);
  });
  for (const FoundHold& hold : found) {
    for (const std::uint64_t number :
         {std::uint64_t{hold.level}, hold.id.high, hold.id.low,
          static_cast<std::uint64_t>(hold.units),
          static_cast<std::uint64_t>(hold.ends_after.count())}) {
      text += (number == hold.level ? "\n  " : " ") + std::to_string(number);
    }
  }
  return text;
}

// A plan whose levels are named after the indexes of their limits.
struct Asked {
  explicit Asked(Operation operation) : plan(operation) {}
  Asked(const Asked& other) : plan(other.plan.operation) {
    plan.only_looks = other.plan.only_looks;
    plan.denied = other.plan.denied;
    plan.wants_growth = other.plan.wants_growth;
    plan.reservation = other.plan.reservation;
    for (const Level& level : other.plan.levels) add(*level.limit, level.cost);
  }

  void add(const Limit& limit, std::int64_t cost) {
    const auto first = static_cast<std::uint32_t>(plan.segments.size());
    names.push_back(std::to_string(limit.index));
    plan.segments.emplace_back(limit.index % 2 == 0 ? "even" : "odd",
                               Segment::Kind::kCaller);
    plan.segments.emplace_back(names.back(), Segment::Kind::kExact);
    plan.add_level(&limit, first, 2u, cost);
  }

  std::deque<std::string> names;
  Plan plan;
};

class HoldRequests {
 protected:
  HoldRequests() {
    std::uint32_t index = 0;
    for (const Shape& shape : kShapes) {
      limits_.push_back(limit_of(shape, index, 1));
      changed_.push_back(limit_of(shape, index, 3));
      ++index;
    }
    clock_.set(Instant(seconds(1'750'300'000)));
  }

  std::int64_t up_to(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random_);
  }
  bool one_in(std::int64_t count) { return up_to(count - 1) == 0; }

  const Limit& limit(std::size_t index) const {
    return (now_changed_.contains(index) ? changed_ : limits_)[index];
  }

  void move_clock() {
    clock_.advance(Duration(up_to(one_in(30) ? 3'000'000'000 : 9'000'000)));
    if (one_in(300)) clock_.advance(Duration(hours(up_to(9))));
    const Duration back(one_in(600) ? up_to(20'000'000'000) : 0);
    if (steps_back_) clock_.advance(-back);
    if (one_in(1500)) clock_.advance(std::chrono::days(up_to(4)));
    if (!one_in(900)) return;
    const auto index = static_cast<std::size_t>(
        up_to(static_cast<std::int64_t>(limits_.size()) - 1));
    if (!now_changed_.insert(index).second) now_changed_.erase(index);
  }

  HoldId some_id() {
    if (ids_.empty() || one_in(20)) return {random_(), random_()};
    const auto last =
        static_cast<std::int64_t>(std::min(ids_.size(), std::size_t{60}));
    return ids_[ids_.size() - 1 - static_cast<std::size_t>(up_to(last - 1))];
  }

  Operation random_operation() {
    switch (up_to(19)) {
      case 0:
      case 1:
        return Operation::kAuthorize;
      case 2:
        return Operation::kPeek;
      case 3:
        return Operation::kLook;
      case 4:
        return Operation::kSpend;
      case 5:
        return Operation::kRefund;
      case 6:
        return Operation::kExtend;
      case 7:
      case 8:
      case 9:
      case 10:
        return Operation::kSettle;
      default:
        return Operation::kReserve;
    }
  }

  std::int64_t random_cost(const Limit& limit) {
    switch (up_to(40)) {
      case 0:
        return 0;
      case 1:
        return limit.rate.capacity;
      case 2:
        return limit.rate.capacity + 1;
      case 3:
        return INT64_MAX;
      default:
        return limit.cost * (1 + (one_in(4) ? up_to(3) : 0));
    }
  }

  Asked ask() {
    Asked asked(random_operation());
    Plan& plan = asked.plan;
    plan.wants_growth = one_in(2);
    if (is_about_hold(plan.operation)) {
      plan.reservation.id = some_id();
    } else if (plan.operation == Operation::kReserve) {
      plan.reservation.id = {random_(), random_()};
      plan.denied = one_in(30);
    }
    if (plan.operation == Operation::kExtend || one_in(6)) {
      plan.reservation.hold = Duration(1 + up_to(40'000'000'000));
    }
    const auto last = static_cast<std::int64_t>(limits_.size()) - 1;
    const bool all = one_in(is_about_hold(plan.operation) ? 2 : 40);
    const std::int64_t levels = all ? last + 1 : 1 + up_to(3);
    std::set<std::int64_t> chosen;
    while (static_cast<std::int64_t>(chosen.size()) < levels) {
      chosen.insert(up_to(last));
    }
    for (const std::int64_t i : chosen) {
      const Limit& one = limit(static_cast<std::size_t>(i));
      if (is_about_hold(plan.operation)) {
        if (!one.holds()) continue;
        const bool extends = plan.operation == Operation::kExtend;
        asked.add(one, extends ? 0 : one_in(2) ? kAsHeld : up_to(4));
      } else {
        asked.add(one, random_cost(one));
      }
    }
    return asked;
  }

  bool steps_back_ = true;  // whether the clock does so now and then
  ManualClock clock_;
  std::mt19937_64 random_{7};
  std::deque<Limit> limits_;
  std::deque<Limit> changed_;
  std::set<std::size_t> now_changed_;
  std::vector<HoldId> ids_;
};

}  // namespace limitree::hold_requests
