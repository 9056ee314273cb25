#include "store/redis/script/mixed_script.hpp"

#include <array>
#include <charconv>
#include <optional>

#include "base/calendar.hpp"
#include "base/fixed_window.hpp"
#include "base/leaky_step.hpp"
#include "base/sliding_tail.hpp"
#include "base/unit_log.hpp"
#include "store/redis/wire/command.hpp"

namespace limitree::redis {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// More than any bucket holds: about 300 years.
constexpr std::int64_t kEndlessSeconds = 10'000'000'000;

bool charges(Operation operation) {
  return operation == Operation::kAuthorize || operation == Operation::kPeek;
}

char kind_of(const Limit& limit) {
  if (limit.is_plain()) return 'g';
  switch (limit.algorithm) {
    case Algorithm::kGcra:
      break;
    case Algorithm::kLeakyStep:
      return 's';
    case Algorithm::kSlidingLog:
    case Algorithm::kSlidingWindow:
      return 'l';
    case Algorithm::kSlidingTail:
      return limit.rules->round_up ? 'u' : 't';
    case Algorithm::kFixedWindow:
      return limit.rules->align == Align::kFirst      ? '1'
             : limit.rules->align == Align::kCalendar ? 'c'
                                                      : 'f';
  }
  return 'g';
}

std::int64_t micros_of(Instant at) {
  return at.time_since_epoch() / kMicrosecond;
}
std::int64_t micros_of(Duration time) { return time / kMicrosecond; }

// "b0:b1:b2:b3": the window before that of `now`, that one, and the next.
std::string bounds_of(const Calendar& calendar, Instant now) {
  const Window window = calendar.window_at(now);
  const Window before =
      calendar.window_at(saturating_add(window.start, Duration(-1)));
  const Window next = calendar.window_at(window.end);
  std::string text;
  for (const Instant bound :
       {before.start, window.start, window.end, next.end}) {
    if (!text.empty()) text += ':';
    text += std::to_string(micros_of(bound));
  }
  return text;
}

Demand demand_of(const Plan& plan, const Level& level, Instant now) {
  return {plan.operation,
          level.cost,
          ceiling_of(*level.limit, plan.pressure),
          level.limit->rate.capacity,
          now,
          plan.wants_growth};
}

// Three durations, as seconds and nanoseconds each.
void append_gcra(const Demand& demand, const Limit& limit, std::string* out) {
  const Duration interval = limit.rate.emission_interval;
  // What is owed beyond the ceiling, under another pressure, is given back
  // from where it is.
  const std::int64_t most = demand.operation == Operation::kRefund
                                ? highest_ceiling_of(limit)
                                : demand.ceiling;
  const bool never = charges(demand.operation) && demand.cost > demand.ceiling;
  const Duration charge = interval * std::min(demand.cost, most);
  append_word(never ? kEndlessSeconds : charge.count() / kSecond, out);
  append_word(charge.count() % kSecond, out);
  for (const std::int64_t tokens : {most, highest_ceiling_of(limit)}) {
    const Duration offset = interval * tokens;
    append_word(offset.count() / kSecond, out);
    append_word(offset.count() % kSecond, out);
  }
}

// The six numbers that tell of a limit and of what is asked of it.
void append_numbers(const Demand& demand, const Limit& limit,
                    std::string* out) {
  const char kind = kind_of(limit);
  if (kind == 'g') return append_gcra(demand, limit, out);
  // A double holds every cost that fits, and what exceeds one that does not.
  append_word(std::min(demand.cost, 2 * kMaxUnits), out);
  append_word(demand.ceiling, out);
  switch (limit.algorithm) {
    case Algorithm::kLeakyStep:
      append_word(micros_of(limit.rate.emission_interval), out);
      append_word(highest_ceiling_of(limit), out);
      break;
    case Algorithm::kSlidingLog:
    case Algorithm::kSlidingWindow:
      append_word(micros_of(limit.period), out);
      append_word(micros_of(limit.rules->bucket), out);
      break;
    default:
      if (kind == 'c') {
        append_word(bounds_of(*limit.rules->calendar, demand.now), out);
      } else {
        append_word(micros_of(limit.period), out);
      }
      append_word("0", out);
  }
  append_word(demand.capacity, out);
  append_word("0", out);
}

// Takes decimal numbers, between colons, off the front of a word.
class Numbers {
 public:
  explicit Numbers(std::string_view text) : text_(text) {}

  std::int64_t next() {
    std::uint64_t value = 0;
    const char* const end = text_.data() + text_.size();
    const auto [at, error] = std::from_chars(text_.data(), end, value);
    if (error != std::errc() || value > INT64_MAX) {
      ok_ = false;
      return 0;
    }
    text_.remove_prefix(static_cast<std::size_t>(at - text_.data()));
    if (text_.starts_with(':')) {
      text_.remove_prefix(1);
    } else {
      ended_ = text_.empty();
    }
    return static_cast<std::int64_t>(value);
  }
  // Microseconds since 1970.
  Instant next_instant() {
    const std::int64_t micros = next();
    if (micros > INT64_MAX / 1000) ok_ = false;
    return ok_ ? Instant(micros * kMicrosecond) : Instant();
  }
  bool all_read() const { return ok_ && ended_; }

 private:
  std::string_view text_;
  bool ok_ = true;
  bool ended_ = false;
};

bool read_fixed(const Demand& demand, const Limit& limit, std::string_view word,
                Usage* usage) {
  FixedWindow::State state;
  if (!word.empty()) {
    Numbers numbers(word);
    state.start = numbers.next_instant();
    state.units = numbers.next();
    if (!numbers.all_read()) return false;
  }
  FixedWindow bucket = fixed_window_of(state, limit, demand.now);
  *usage = evaluate(demand, &bucket);
  return true;
}

bool read_tail(const Demand& demand, const Limit& limit, std::string_view word,
               Usage* usage) {
  SlidingTail::State state;
  if (!word.empty()) {
    Numbers numbers(word);
    state.start = numbers.next_instant();
    state.current = numbers.next();
    state.previous = numbers.next();
    if (!numbers.all_read()) return false;
  }
  SlidingTail bucket(state, limit.period, limit.rules->round_up, demand.now);
  *usage = evaluate(demand, &bucket);
  return true;
}

// The script has looked through the log: what is used, and when how much of it
// has left.
bool read_log(const Demand& demand, std::string_view word, Usage* usage) {
  Numbers numbers(word);
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

// A bucket of which one number is known, in nanoseconds or microseconds.
bool read_one(const Demand& demand, const Limit& limit, std::string_view word,
              Usage* usage) {
  const std::int64_t highest = highest_ceiling_of(limit);
  const Duration interval = limit.rate.emission_interval;
  Instant at = kLongAgo;
  if (limit.algorithm == Algorithm::kLeakyStep) {
    if (!word.empty()) {
      Numbers numbers(word);
      at = numbers.next_instant();
      if (!numbers.all_read()) return false;
    }
    LeakyStep bucket(at, interval, highest, demand.now);
    *usage = evaluate(demand, &bucket);
    return true;
  }
  if (!word.empty()) {
    Numbers numbers(word);
    at = Instant(Duration(numbers.next()));
    if (!numbers.all_read()) return false;
  }
  Overdraft bucket(at, interval, highest, demand.now);
  *usage = evaluate(demand, &bucket);
  return true;
}

}  // namespace

char when_charged(const Plan& plan, const Level& level) {
  if (plan.operation == Operation::kPeek || !is_charged(level.mode) ||
      level.cost == 0) {
    return '0';
  }
  if (plan.operation != Operation::kAuthorize) return '1';
  if (level.limit->charge == Charge::kIndependent) return '2';
  return plan.denied ? '3' : '1';
}

void append_mixed_level(const Plan& plan, const Level& level, Instant now,
                        std::string* out) {
  const Limit& limit = *level.limit;
  const Demand demand = demand_of(plan, level, now);
  const char kind = kind_of(limit);
  append_word(std::string_view(&kind, 1), out);
  const bool denies =
      charges(plan.operation) && counts(level.mode) && level.cost > 0;
  append_word(denies ? "1" : "0", out);
  const char when = when_charged(plan, level);
  append_word(std::string_view(&when, 1), out);
  append_numbers(demand, limit, out);
}

bool read_mixed_level(const Plan& plan, std::string_view word, Instant now,
                      Level* level, Usage* usage) {
  const Limit& limit = *level->limit;
  if (limit.is_plain()) {
    level->debt = Duration::zero();
    if (word.empty()) return true;
    Numbers numbers(word);
    level->debt = saturating_sub(Instant(Duration(numbers.next())), now);
    return numbers.all_read();
  }
  level->usage = usage;
  const Demand demand = demand_of(plan, *level, now);
  switch (limit.algorithm) {
    case Algorithm::kFixedWindow:
      return read_fixed(demand, limit, word, usage);
    case Algorithm::kSlidingTail:
      return read_tail(demand, limit, word, usage);
    case Algorithm::kSlidingLog:
    case Algorithm::kSlidingWindow:
      return read_log(demand, word, usage);
    case Algorithm::kGcra:
    case Algorithm::kLeakyStep:
      break;
  }
  return read_one(demand, limit, word, usage);
}

}  // namespace limitree::redis
