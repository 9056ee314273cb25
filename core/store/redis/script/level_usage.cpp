#include "store/redis/script/level_usage.hpp"

#include <charconv>

#include "base/calendar.hpp"
#include "base/fixed_window.hpp"
#include "base/leaky_step.hpp"
#include "base/sliding_tail.hpp"
#include "base/unit_log.hpp"
#include "store/redis/script/level_numbers.hpp"

namespace limitree::redis {

namespace {

// Takes decimal numbers, between colons, off the front of a word; of an empty
// one they are 0.
class Numbers {
 public:
  explicit Numbers(std::string_view text) : text_(text), empty_(text.empty()) {}

  std::int64_t next() {
    if (empty_) return 0;
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
  bool all_read() const { return empty_ || (ok_ && ended_); }

 private:
  std::string_view text_;
  const bool empty_;
  bool ok_ = true;
  bool ended_ = false;
};

// The script has looked through the log: what is used, and when how much of it
// has left.
bool read_log(const Demand& demand, Numbers* words, Usage* usage) {
  Numbers& numbers = *words;
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
  Numbers numbers(word);
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
      break;
  }
  return !word.empty() && read_log(demand, &numbers, usage);
}

}  // namespace limitree::redis
