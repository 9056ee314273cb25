// The unit in which the debt of a bucket is measured: twelve bits next to its
// tag.
//
// The seconds owed do not say which of two buckets is less limited: a full
// limit of five per minute owes one minute, while a single token of three per
// day owes eight hours.  So a bucket stores roughly how long it takes to fill,
// and for how few requests.
//
//   bits   11 ... 3                               2 ... 0
//          burst offset: a float's exponent and   class of requests that a
//          the first three bits of its fraction   full bucket is enough for

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/limit.hpp"
#include "base/time.hpp"

namespace limitree {

class Measure {
 public:
  static constexpr std::uint64_t kMask = 0xfff;

  explicit Measure(const Limit& limit)
      : bits_(length_of(limit.rate) | class_of(limit)) {}

  // The measure in the lowest bits of `bits`.
  explicit constexpr Measure(std::uint64_t bits) : bits_(bits & kMask) {}

  constexpr std::uint64_t bits() const { return bits_; }

  // `debt` as a part of the burst offset, from 0 to 1.  Three bits give it to
  // within a sixteenth.  REQUIRES: debt >= 0.
  float share(Duration debt) const {
    const auto kept = static_cast<std::uint32_t>(bits_ >> kClassBits) + kOne;
    const auto length = std::bit_cast<float>(kept << kDropped);
    return std::min(static_cast<float>(debt.count()) / length, 1.0F);
  }

  // Whether a bucket that owes `debt` denies a request of cost 1, and will deny
  // it for half of a token's time if it is for few requests.
  bool denies(Duration debt) const {
    constexpr float kFrom[] = {0, 3.0F / 4, 5.0F / 6, 7.0F / 8, 11.0F / 12};
    constexpr float kFromMany = 15.0F / 16;
    const std::uint64_t which = bits_ & kClassMask;
    return share(debt) > (which < std::size(kFrom) ? kFrom[which] : kFromMany);
  }

 private:
  static constexpr int kClassBits = 3;
  static constexpr std::uint64_t kClassMask = 7;
  static constexpr int kDropped = 20;  // bits of a float that are dropped
  static constexpr std::uint32_t kOne =
      std::bit_cast<std::uint32_t>(1.0F) >> kDropped;

  static std::uint64_t length_of(const Rate& rate) {
    constexpr std::uint32_t kHalf = 1U << (kDropped - 1);
    const auto length = static_cast<float>(rate.burst_offset().count());
    const std::uint32_t kept =
        ((std::bit_cast<std::uint32_t>(length) + kHalf) >> kDropped) - kOne;
    return (std::uint64_t{kept} << kClassBits) & kMask;
  }

  // 1, 2, 3, 4, 5 to 7, or more requests.
  static std::uint64_t class_of(const Limit& limit) {
    const std::int64_t requests =
        limit.rate.capacity / std::max(limit.cost, std::int64_t{1});
    if (requests >= 8) return 5;
    return static_cast<std::uint64_t>(
        std::clamp(requests - 1, std::int64_t{0}, std::int64_t{4}));
  }

  std::uint64_t bits_;
};

}  // namespace limitree
