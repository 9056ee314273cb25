// Limits of every algorithm, for benchmarks.

#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <string_view>

#include "base/limit.hpp"
#include "base/time.hpp"

namespace limitree::bench {

inline constexpr std::array kAlgorithms = {
    Algorithm::kGcra,      Algorithm::kFixedWindow,   Algorithm::kSlidingTail,
    Algorithm::kLeakyStep, Algorithm::kSlidingWindow, Algorithm::kSlidingLog,
};

// A limit of `count` per `period`, as limits.yaml has it.
inline Limit limit_of(Algorithm algorithm, std::int64_t count,
                      Duration period) {
  Limit limit;
  limit.rate = make_rate(count, period, count).value();
  limit.count = count;
  limit.period = period;
  limit.algorithm = algorithm;
  if (algorithm == Algorithm::kGcra) return limit;
  Rules rules;
  if (algorithm == Algorithm::kSlidingWindow) {
    rules.bucket = kMicrosecond * mul_div_up(period / kMicrosecond, 1, 60);
  }
  limit.rules = std::make_shared<const Rules>(rules);
  limit.suffix = traits_of(algorithm).suffix;
  return limit;
}

}  // namespace limitree::bench
