// The state of one bucket of GCRA, or of another algorithm that stores one
// instant: a slot of 16 bytes.

#pragma once

#include <atomic>
#include <cstdint>

#include "base/limit.hpp"
#include "base/time.hpp"
#include "store/buckets/measure.hpp"

namespace limitree {

struct Bucket {
  std::uint64_t tag;  // keyed hash of its name, and a Measure; 0: never used
  Instant tat;

  static Bucket made(std::uint64_t tag, const Limit& limit, Instant tat) {
    return {(tag & ~Measure::kMask) | Measure(limit).bits(), tat};
  }

  // Sets the end of its debt to `tat`.
  void charge(std::uint64_t own_tag, const Limit& limit, Instant new_tat,
              Instant now) {
    // A bucket that was full, or owed more, may belong to another limit that
    // was in force before a reload.
    if (is_over(now) || new_tat < tat) {
      *this = made(own_tag, limit, new_tat);
    } else {
      tat = new_tat;
    }
  }

  // Becomes the bucket of another name.  A process that is killed between two
  // of these steps leaves a bucket that is full: no caller inherits the debt of
  // another.
  void become(const Bucket& other) {
    tat = kLongAgo;
    std::atomic_signal_fence(std::memory_order_release);
    tag = other.tag;
    std::atomic_signal_fence(std::memory_order_release);
    tat = other.tat;
  }

  bool is_of(std::uint64_t other) const {
    return (tag ^ other) <= Measure::kMask;
  }
  // Whether the bucket is full at `now`, which is as good as absent.
  bool is_over(Instant now) const { return tat <= now; }
  // The used share of the bucket, from 0 to 1.
  float share(Instant now) const {
    return is_over(now) ? 0 : Measure(tag).share(saturating_sub(tat, now));
  }
  bool denies(Instant now) const {
    return !is_over(now) && Measure(tag).denies(saturating_sub(tat, now));
  }

  static constexpr bool kOwns = false;  // nothing outside its slot
};

}  // namespace limitree
