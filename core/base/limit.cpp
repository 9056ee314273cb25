#include "base/limit.hpp"

#include <algorithm>

namespace limitree {

namespace {

// Returns number x whole / part, rounded up, or `most` if that is less.
std::int64_t divide(std::int64_t number, Share share, std::int64_t most) {
  std::int64_t rest = 0;
  std::int64_t quotient = 0;
  // The remainder is less than part, so its product stays in range.
  rest = (number % share.part * share.whole + share.part - 1) / share.part;
  if (__builtin_mul_overflow(number / share.part, share.whole, &quotient) ||
      __builtin_add_overflow(quotient, rest, &quotient)) {
    return most;
  }
  return std::min(quotient, most);
}

Status too_small(const char* what, std::int64_t value) {
  return invalid_config(std::string(what) + " must be greater than 0, is " +
                        std::to_string(value));
}

}  // namespace

Rate share_of(const Rate& rate, Share share) {
  if (rate.capacity == 0) return rate;  // see make_counter()
  const std::int64_t capacity =
      std::max(share_of(rate.capacity, share), std::int64_t{1});
  // A rate below one token in 100 years makes no difference.
  const std::int64_t longest = Duration(kMaxBurstOffset).count() / capacity;
  return {Duration(divide(rate.emission_interval.count(), share, longest)),
          capacity};
}

Result<Rate> make_rate(std::int64_t count, Duration period,
                       std::int64_t capacity) {
  if (count < 1) return too_small("count", count);
  if (period < Duration(1)) {
    return invalid_config("period must be greater than 0, is " +
                          std::to_string(period.count()) + "ns");
  }
  if (capacity < 1) return too_small("capacity", capacity);

  const Rate rate{period / count, capacity};
  if (rate.emission_interval < Duration(1)) {
    return invalid_config("count " + std::to_string(count) + " in " +
                          std::to_string(period.count()) +
                          "ns is more than one per nanosecond");
  }
  if (capacity > kMaxBurstOffset / rate.emission_interval) {
    return invalid_config("a bucket of " + std::to_string(capacity) +
                          " tokens, one per " +
                          std::to_string(rate.emission_interval.count()) +
                          "ns, takes more than 100 years to fill");
  }
  return rate;
}

bool is_unit_name(std::string_view name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && is_letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) {
           return is_letter(c) || c == '_' || (c >= '0' && c <= '9');
         });
}

Limit make_counter(std::int64_t count, Duration period) {
  static const auto rules = std::make_shared<const Rules>();
  Limit limit;
  // Windows do not use the interval, but it must not be 0.
  limit.rate = {
      std::max(period / std::max(count, std::int64_t{1}), Duration(1)), count};
  limit.period = period;
  limit.count = count;
  limit.charge = Charge::kEveryHit;
  limit.algorithm = Algorithm::kFixedWindow;
  limit.rules = rules;
  limit.suffix = traits_of(limit.algorithm).suffix;
  return limit;
}

// One token that comes back in the longest time there is, so that no debt is
// cut off, and that a request needs whole.
void make_block(Limit* limit) {
  limit->rate = {kMaxBurstOffset, 1};
  limit->period = kMaxBurstOffset;
  limit->count = 1;
  limit->mode = Mode::kCheck;
  limit->charge = Charge::kDenials;
}

Limit block_for(const Limit& block, Duration time) {
  Limit limit = block;
  limit.rate = {time, 1};  // the period stays: a store may be chosen by it
  limit.mode = Mode::kEnforce;
  limit.index = Limit::kNoIndex;
  return limit;
}

std::int64_t ceiling_of(const Limit& limit, std::int32_t pressure) {
  const std::int64_t capacity = limit.rate.capacity;
  if (limit.is_plain() || limit.rules->overrun == 0) return capacity;
  const std::int64_t idle =
      limit.rules->overrun_when_idle ? kFullPressure - pressure : kFullPressure;
  // Capacities with an overrun are at most kMaxUnits, percents kMaxOverrun.
  const std::int64_t hundredths = capacity * limit.rules->overrun;
  __extension__ using Wide = __int128;
  return capacity + static_cast<std::int64_t>(Wide{hundredths} * idle /
                                              (100 * Wide{kFullPressure}));
}

std::int64_t highest_ceiling_of(const Limit& limit) {
  return ceiling_of(limit, 0);
}

Duration window_of(const Limit& limit) {
  if (limit.algorithm == Algorithm::kConcurrent) return Duration::zero();
  return is_window(limit.algorithm) ? limit.period : limit.rate.burst_offset();
}

}  // namespace limitree
