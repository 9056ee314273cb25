// level_numbers.hpp for limits with `hold`.

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/calendar.hpp"
#include "store/redis/script/level_numbers.hpp"

namespace limitree::redis {

namespace {

// A bucket that fills within this time has numbers of 53 bits.
constexpr Duration kMaxHeldOffset = std::chrono::days(100);

// What a word tells: which sides of a Usage it has, and more.
constexpr std::int64_t kTellsLeft = 1;
constexpr std::int64_t kTellsCharged = 2;
constexpr std::int64_t kTellsChanges = 4;
constexpr std::int64_t kTellsAhead = 8;
constexpr std::int64_t kTellsCrowded = 16;
constexpr std::int64_t kTellsEnded = 32;
constexpr std::int64_t kTellsHolds = 64;

// What is left in the word: what is held.
void list_holds(std::size_t level, ReplyNumbers* numbers,
                std::vector<FoundHold>* found) {
  while (!numbers->all_read()) {
    const Duration ends_after{numbers->next()};
    const std::int64_t units = numbers->next();
    const auto half = [numbers] {
      const auto high = static_cast<std::uint64_t>(numbers->next());
      return high << 32 | static_cast<std::uint64_t>(numbers->next());
    };
    const HoldId id{half(), half()};
    if (!numbers->ok()) return;
    if (found != nullptr) found->push_back({level, id, units, ends_after});
  }
}

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

bool read_held(const Plan& plan, const Level& level, const Demand& demand,
               ReplyNumbers* words, Usage* usage) {
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
  usage->crowded = (flags & kTellsCrowded) != 0;
  if (usage->crowded) usage->fits = false;
  usage->changes = (flags & kTellsChanges) != 0;
  usage->ahead = (flags & kTellsAhead) != 0;
  if ((flags & kTellsLeft) != 0) usage->left = side();
  usage->charged = (flags & kTellsCharged) != 0 ? side() : usage->left;
  if ((flags & kTellsLeft) == 0) {
    usage->left = usage->charged;
    // What is found is told after the end of a hold.
    if (!about_hold) usage->left.used = used;
  }
  if ((flags & kTellsEnded) != 0) {
    usage->ended = static_cast<std::uint32_t>(
        std::min<std::int64_t>(numbers.next(), kMaxHolds));
  }
  if ((flags & kTellsHolds) != 0) {
    list_holds(static_cast<std::size_t>(&level - plan.levels.data()), &numbers,
               plan.found);
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
