// Ids of holds: random bits that nobody can guess, so that nobody settles what
// others hold; or made of names.

#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/hold.hpp"
#include "store/entropy.hpp"
#include "store/siphash.hpp"

namespace limitree {

// A keyed hash of 1, 2, ...; thread-safe.
class HoldIds {
 public:
  HoldIds() : key_{random_word(), random_word()} {}

  HoldId next() {
    SipHash hash(key_);
    hash.absorb(count_.fetch_add(1, std::memory_order_relaxed));
    const std::uint64_t high = hash.finish();
    hash.absorb(high);
    return {high, hash.finish()};
  }

  // The id that all processes make of a name that the caller has chosen.
  static HoldId of(std::string_view name) {
    SipHash hash(SipKey{});
    hash.absorb(name, 0);
    const std::uint64_t high = hash.finish();
    hash.absorb(high);
    return {high, hash.finish()};
  }

  // So that a child makes neither the ids of its parent nor those of an earlier
  // child, whose process number may have been the same.  REQUIRES: no other
  // thread.
  void forked() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    SipHash hash(key_);
    hash.absorb(static_cast<std::uint64_t>(getpid()));
    hash.absorb(static_cast<std::uint64_t>(since.count()));
    key_.k0 = hash.finish();
    hash.absorb(key_.k0);
    key_.k1 = hash.finish();
  }

 private:
  SipKey key_;
  std::atomic<std::uint64_t> count_{1};
};

}  // namespace limitree
