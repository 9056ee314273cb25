#include "store/redis/script/level_numbers.hpp"

#include <algorithm>

#include "base/calendar.hpp"
#include "base/fixed_window.hpp"
#include "base/leaky_step.hpp"
#include "base/sliding_tail.hpp"
#include "base/unit_log.hpp"

namespace limitree::redis {

namespace {

// More than any bucket holds: about 300 years.
constexpr std::int64_t kEndlessMicros = 10'000'000'000'000'000;

LevelNumbers gcra_numbers(const Demand& demand, const Limit& limit) {
  const Duration interval = limit.rate.emission_interval;
  const std::int64_t highest = highest_ceiling_of(limit);
  // A refund starts from the whole debt, which may exceed the ceiling if it was
  // made under another pressure.
  const std::int64_t most =
      demand.operation == Operation::kRefund ? highest : demand.ceiling;
  const bool never = charges(demand.operation) && demand.cost > demand.ceiling;
  const Duration charge = interval * std::min(demand.cost, most);
  const Duration offset = interval * most;
  const Duration top = interval * highest;
  return {never ? kEndlessMicros : micros_of(charge),
          charge.count() % 1000,
          micros_of(offset),
          offset.count() % 1000,
          micros_of(top),
          top.count() % 1000};
}

// The script has looked through the log: what is used, and when how much of it
// has left.
bool read_log(const Demand& demand, ReplyNumbers* words, Usage* usage) {
  ReplyNumbers& numbers = *words;
  const std::int64_t used = numbers.next();
  const auto wait = [&] {
    return wait_until(numbers.next_instant(), demand.now);
  };
  const auto side = [&](std::int64_t units) -> Usage::Side {
    const Duration empty = wait();
    const Duration room = wait();
    const Duration grows = wait();
    return {units, empty,
            fits_after(demand, [&](std::int64_t /*most*/) { return room; }),
            grows};
  };
  *usage = usage_of(demand, used);
  usage->left = side(used);
  const std::int64_t more = units_moved(demand, used);
  usage->changes = more != 0;
  usage->charged = side(used + more);
  return numbers.all_read();
}

}  // namespace

Kind kind_of(const Limit& limit) {
  switch (limit.algorithm) {
    case Algorithm::kGcra:
      if (limit.holds()) return Kind::kHeldGcra;
      break;
    case Algorithm::kConcurrent:
      return Kind::kConcurrent;
    case Algorithm::kLeakyStep:
      return Kind::kStep;
    case Algorithm::kSlidingLog:
    case Algorithm::kSlidingWindow:
      return Kind::kLog;
    case Algorithm::kSlidingTail:
      return limit.rules->round_up ? Kind::kTailUp : Kind::kTail;
    case Algorithm::kFixedWindow:
      if (limit.holds()) {
        return limit.rules->align == Align::kCalendar ? Kind::kHeldCalendar
                                                      : Kind::kHeldFixed;
      }
      switch (limit.rules->align) {
        case Align::kEpoch:
          break;
        case Align::kFirst:
          return Kind::kFirst;
        case Align::kCalendar:
          return Kind::kCalendar;
      }
      return Kind::kFixed;
  }
  return Kind::kGcra;
}

const std::array<std::string_view, kNumbers>& number_names(Kind kind) {
  // In the order of Kind.
  static constexpr std::array<std::string_view, kNumbers> kNames[] = {
      {"charge", "charge_ns", "most", "most_ns", "top", "top_ns"},
      {"cost", "ceiling", "period"},
      {"cost", "ceiling", "period"},
      {"cost", "ceiling", "before", "start", "stop", "next"},
      {"cost", "ceiling", "period"},
      {"cost", "ceiling", "period"},
      {"cost", "ceiling", "period", "highest"},
      {"cost", "ceiling", "period", "join", "capacity"},
      {"cost", "ceiling", "lasts", "flags", "interval"},
      {"cost", "ceiling", "lasts", "flags", "period"},
      {"cost", "ceiling", "lasts", "flags", "before", "start", "stop", "next",
       "third", "fourth"},
      {"cost", "ceiling", "lasts", "flags"},
  };
  static_assert(std::size(kNames) == kAllKinds);
  return kNames[static_cast<std::size_t>(kind)];
}

std::uint32_t named_numbers(Kind kind) {
  std::uint32_t bits = 0;
  for (std::size_t n = 0; n < kNumbers; ++n) {
    if (!number_names(kind)[n].empty()) bits |= 1u << n;
  }
  return bits;
}

Demand demand_of(const Plan& plan, const Level& level, Instant now) {
  return {plan.operation,
          level.cost,
          ceiling_of(*level.limit, plan.pressure),
          level.limit->rate.capacity,
          now,
          plan.wants_growth,
          level.limit->charge};
}

LevelNumbers numbers_of(const Plan& plan, const Level& level, Instant now) {
  const Limit& limit = *level.limit;
  const Demand demand = demand_of(plan, level, now);
  const std::int64_t ceiling = demand.operation == Operation::kSpend
                                   ? demand.spent_up_to()
                                   : demand.ceiling;
  // A double holds every cost that fits, and what exceeds one that does not.
  const std::int64_t cost = std::min(demand.cost, 2 * kMaxUnits);
  switch (kind_of(limit)) {
    case Kind::kGcra:
      break;
    case Kind::kHeldGcra:
      return held_numbers(plan, level, limit.rate.emission_interval.count());
    case Kind::kHeldFixed:
      return held_numbers(plan, level, micros_of(limit.period));
    case Kind::kHeldCalendar:
      return held_calendar_numbers(plan, level, now);
    case Kind::kConcurrent:
      return held_numbers(plan, level, 0);
    case Kind::kFixed:
    case Kind::kFirst:
    case Kind::kTail:
    case Kind::kTailUp:
      return {cost, ceiling, micros_of(limit.period)};
    case Kind::kCalendar: {
      const Calendar& calendar = *limit.rules->calendar;
      const Window window = calendar.window_at(now);
      const Window before =
          calendar.window_at(saturating_add(window.start, Duration(-1)));
      return {cost,
              ceiling,
              micros_of(before.start),
              micros_of(window.start),
              micros_of(window.end),
              micros_of(calendar.window_at(window.end).end)};
    }
    case Kind::kStep:
      return {cost, demand.ceiling, micros_of(limit.rate.emission_interval),
              highest_ceiling_of(limit)};
    case Kind::kLog:
      // Without sub-windows it joins what has the same microsecond.
      return {cost, demand.ceiling, micros_of(limit.period),
              std::max(micros_of(limit.rules->bucket), std::int64_t{1}),
              demand.capacity};
  }
  return gcra_numbers(demand, limit);
}

std::uint32_t varying_numbers(const Level& level) {
  const Limit& limit = *level.limit;
  const bool idle = !limit.is_plain() && limit.rules->overrun_when_idle;
  if (!idle && level.cost == limit.cost &&
      limit.algorithm != Algorithm::kFixedWindow && !limit.holds()) [[likely]]
    return 0;
  const Kind kind = kind_of(limit);
  std::uint32_t bits = 0;
  if (can_hold(kind)) {
    bits = level.cost != limit.cost ? 0b101 : 0b100;
    return kind == Kind::kHeldCalendar ? bits | 0b1111110000 : bits;
  }
  if (kind == Kind::kGcra) {
    if (level.cost != limit.cost) bits |= 0b11;
    if (idle) bits |= 0b1111;
    // In whole microseconds, whatever the cost.
    if (limit.rate.emission_interval.count() % 1000 == 0) bits &= ~0b1010u;
    return bits;
  }
  if (level.cost != limit.cost) bits |= 0b1;
  if (idle) bits |= 0b11;
  if (kind == Kind::kCalendar) bits |= 0b111100;
  return bits;
}

bool takes_lease(const Plan& plan, Layout layout) {
  return !is_loop(layout) && plan.lease.most > 0 && can_lease(plan);
}

char when_charged(const Plan& plan, const Level& level) {
  if (is_about_hold(plan.operation)) return '1';
  if (plan.operation == Operation::kPeek || !is_charged(level.mode) ||
      level.cost == 0) {
    return '0';
  }
  if (!is_asked(plan.operation)) return '1';
  switch (level.limit->charge) {
    case Charge::kAllOrNothing:
      break;
    case Charge::kIndependent:
      return '2';
    case Charge::kAllOrDenying:
      return plan.denied ? '6' : '5';
    case Charge::kEveryHit:
      return '4';
    case Charge::kDenials:
      return plan.denied ? '2' : '7';
  }
  return plan.denied ? '3' : '1';
}

// Elsewhere cost 0 fits whatever is owed.
bool may_deny(const Plan& plan, const Level& level) {
  return charges(plan.operation) && counts(level.mode) &&
         (level.cost > 0 || counts_denied(level.limit->charge));
}

std::uint32_t passed_numbers(const Level& level, Layout layout) {
  switch (layout) {
    case Layout::kWritten:
      return varying_numbers(level);
    case Layout::kPassed:
      return named_numbers(kind_of(*level.limit));
    case Layout::kLoop:
      return (1u << kLoopNumbers) - 1;
    case Layout::kHeldLoop:
      break;
  }
  return (1u << kNumbers) - 1;
}

bool read_usage(const Plan& plan, const Level& level, std::string_view word,
                Instant now, Usage* usage) {
  const Limit& limit = *level.limit;
  const Demand demand = demand_of(plan, level, now);
  const std::int64_t highest = highest_ceiling_of(limit);
  const Duration interval = limit.rate.emission_interval;
  const auto compare = [&](auto bucket) {
    *usage = evaluate(demand, &bucket);
    return true;
  };
  ReplyNumbers numbers(word);
  if (limit.holds()) {
    return !word.empty() && read_held(plan, level, demand, &numbers, usage);
  }
  switch (limit.algorithm) {
    case Algorithm::kGcra: {
      const Instant tat{Duration(numbers.next())};
      return numbers.all_read() &&
             compare(Overdraft(tat, interval, highest, now));
    }
    case Algorithm::kFixedWindow: {
      const FixedWindow::State state = {numbers.next_instant(), numbers.next()};
      return numbers.all_read() && compare(fixed_window_of(state, limit, now));
    }
    case Algorithm::kSlidingTail: {
      const SlidingTail::State state = {numbers.next_instant(), numbers.next(),
                                        numbers.next()};
      return numbers.all_read() &&
             compare(
                 SlidingTail(state, limit.period, limit.rules->round_up, now));
    }
    case Algorithm::kLeakyStep: {
      const Instant empty_at = numbers.next_instant();
      return numbers.all_read() &&
             compare(LeakyStep(empty_at, interval, highest, now));
    }
    case Algorithm::kSlidingLog:
    case Algorithm::kSlidingWindow:
    case Algorithm::kConcurrent:
      break;
  }
  return !word.empty() && read_log(demand, &numbers, usage);
}

}  // namespace limitree::redis
