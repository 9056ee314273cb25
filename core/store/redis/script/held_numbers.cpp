#include "store/redis/script/held_numbers.hpp"

#include <algorithm>

#include "base/calendar.hpp"

namespace limitree::redis {

namespace {

// What a word tells: which sides of a Usage it has, and more.
constexpr std::int64_t kTellsLeft = 1;
constexpr std::int64_t kTellsCharged = 2;
constexpr std::int64_t kTellsChanges = 4;
constexpr std::int64_t kTellsAhead = 8;
constexpr std::int64_t kTellsCrowded =
    16;  // there is no room for one more hold

}  // namespace

LevelNumbers held_numbers(const Plan& plan, const Level& level,
                          std::int64_t last) {
  const Limit& limit = *level.limit;
  const Reservation& reservation = plan.reservation;
  const Duration hold = reservation.hold > Duration::zero() ? reservation.hold
                                                            : limit.rules->hold;
  const bool books =
      plan.operation != Operation::kPeek && is_charged(level.mode);
  return {std::min(level.cost, 2 * kMaxUnits), ceiling_of(limit, plan.pressure),
          hold.count(),
          (limit.rules->frees ? kFreesUnsettled : 0) |
              (books ? kBooksEnded : 0) |
              (plan.wants_growth ? kWantsGrowth : 0),
          last};
}

LevelNumbers held_calendar_numbers(const Plan& plan, const Level& level,
                                   Instant now) {
  const Calendar& calendar = *level.limit->rules->calendar;
  LevelNumbers numbers = held_numbers(plan, level, 0);
  Instant start = calendar.window_at(now).start;
  start = calendar.window_at(saturating_add(start, Duration(-1))).start;
  for (std::size_t n = 4; n < kNumbers; ++n) {
    numbers[n] = micros_of(start);
    start = calendar.window_at(start).end;
  }
  return numbers;
}

bool read_held(const Demand& demand, ReplyNumbers* words, Usage* usage) {
  ReplyNumbers& numbers = *words;
  const std::int64_t flags = numbers.next();
  const bool about_hold = is_about_hold(demand.operation);
  const auto side = [&]() -> Usage::Side {
    const std::int64_t used = numbers.next();
    const Duration full{numbers.next()};
    const Duration fits{numbers.next()};
    const Duration grows{numbers.next()};
    return {used, full,
            !about_hold && demand.cost > demand.ceiling ? kNever : fits, grows};
  };
  const std::int64_t used = numbers.next();
  if ((flags & (kTellsLeft | kTellsCharged)) == 0) return false;
  *usage = usage_of(demand, used);
  if (about_hold) {
    usage->fits = true;
    usage->never = false;
  }
  if ((flags & kTellsCrowded) != 0) usage->fits = false;
  usage->changes = (flags & kTellsChanges) != 0;
  usage->ahead = (flags & kTellsAhead) != 0;
  if ((flags & kTellsLeft) != 0) usage->left = side();
  usage->charged = (flags & kTellsCharged) != 0 ? side() : usage->left;
  if ((flags & kTellsLeft) == 0) {
    usage->left = usage->charged;
    // What is found is told after the end of a hold.
    if (!about_hold) usage->left.used = used;
  }
  return numbers.all_read();
}

Status can_be_held(const Limit& limit) {
  const bool windows = limit.algorithm == Algorithm::kFixedWindow;
  const Duration time = windows ? limit.period : limit.rate.burst_offset();
  if (!limit.holds() || limit.algorithm == Algorithm::kConcurrent ||
      time <= kMaxHeldOffset) {
    return {};
  }
  return Status(Code::kInvalidArgument,
                limit.policy.str() +
                    " has `hold`, and takes more than 100 days to fill, which "
                    "is too long for redis://");
}

}  // namespace limitree::redis
