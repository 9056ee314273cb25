#include "base/share.hpp"

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

}  // namespace limitree
