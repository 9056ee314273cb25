// Random limits of random traces, as limits.yaml and as numbers.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/limit.hpp"

namespace limitree::traces {

// A generator that is cheap to begin: each step of a trace has its own.
class Random {
 public:
  using result_type = std::uint64_t;

  explicit Random(std::uint64_t seed = 0) : state_(seed) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return UINT64_MAX; }

  // SplitMix64.
  result_type operator()() {
    std::uint64_t value = state_ += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
  }

 private:
  std::uint64_t state_;
};

inline std::int64_t between(std::int64_t least, std::int64_t most,
                            Random& random) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

// A number of any size, small ones as often as large ones.
inline std::int64_t of_any_size(double least, double most, Random& random) {
  return static_cast<std::int64_t>(
      std::exp(std::uniform_real_distribution<double>(std::log(least),
                                                      std::log(most))(random)));
}

// One limit.  Its numbers are such that the rate is exact.
struct OneLimit {
  Algorithm algorithm = Algorithm::kGcra;
  std::int64_t capacity = 1;
  std::int64_t interval_ns = 0;  // of gcra: until one unit drains
  std::int64_t period_ns = 0;    // of fixed_window
  bool by_calendar = false;
  std::int64_t hold_ns = 0;  // 0: cannot hold
  bool frees = false;
  std::int64_t factor = 1;
  bool counts_tokens = false;

  std::string yaml(std::size_t place) const {
    const auto of = [](std::int64_t ns) { return std::to_string(ns) + "ns"; };
    std::string text = "{name: l" + std::to_string(place);
    if (algorithm == Algorithm::kConcurrent) {
      text += ", concurrent: " + std::to_string(capacity);
    } else if (algorithm == Algorithm::kGcra) {
      text += ", count: 1, period: " + of(interval_ns) +
              ", burst: " + std::to_string(capacity);
    } else {
      text += ", algorithm: fixed_window, count: " + std::to_string(capacity) +
              (by_calendar ? ", period: 1d, align: calendar"
                           : ", period: " + of(period_ns));
    }
    if (hold_ns > 0) text += ", hold: " + of(hold_ns);
    if (frees && algorithm != Algorithm::kConcurrent) {
      text += ", unsettled: free";
    }
    if (factor != 1) text += ", cost: " + std::to_string(factor);
    if (counts_tokens) text += ", unit: tokens";
    return text + "}";
  }
};

// The limits of one path.
struct Shape {
  std::vector<OneLimit> limits;
  bool has_slots = false;
  bool has_tokens = false;
  std::int64_t most_requests = 0;  // that fit all limits at once
  std::int64_t most_tokens = 0;

  std::string yaml() const {
    std::string text = "[";
    for (std::size_t i = 0; i < limits.size(); ++i) {
      text += (i == 0 ? "" : ", ") + limits[i].yaml(i);
    }
    return text + "]";
  }
};

inline OneLimit random_limit(bool with_slots, Random& random) {
  OneLimit limit;
  limit.capacity = of_any_size(1, 40, random);
  const std::int64_t kind = between(0, with_slots ? 9 : 7, random);
  const std::int64_t length = of_any_size(1e8, 1e11, random);
  if (kind < 5) {
    limit.interval_ns = std::max<std::int64_t>(1, length / limit.capacity);
  } else if (kind < 8) {
    limit.algorithm = Algorithm::kFixedWindow;
    limit.by_calendar = kind == 7;
    limit.period_ns = kind == 7 ? Duration(std::chrono::hours(24)).count()
                                : length / 1000 * 1000;
  } else {
    limit.algorithm = Algorithm::kConcurrent;
    limit.capacity = of_any_size(1, 10, random);
    limit.frees = true;
  }
  limit.hold_ns = of_any_size(1e6, 6e10, random);
  limit.factor = between(0, 5, random) == 0 ? 2 : 1;
  limit.counts_tokens = between(0, 1, random) == 0;
  if (limit.algorithm != Algorithm::kConcurrent) {
    limit.frees = between(0, 3, random) == 0;
  }
  return limit;
}

// Without slots: no limit of what is held at once.
inline Shape random_shape(bool with_slots, Random& random) {
  Shape shape;
  const std::int64_t count = between(1, 3, random);
  for (std::int64_t i = 0; i < count; ++i) {
    OneLimit limit = random_limit(with_slots, random);
    // Some levels beside another one only count.
    if (i > 0 && limit.algorithm != Algorithm::kConcurrent &&
        between(0, 3, random) == 0) {
      limit.hold_ns = 0;
      limit.frees = false;
    }
    limit.capacity = std::max(limit.capacity, limit.factor);
    shape.has_slots |= limit.algorithm == Algorithm::kConcurrent;
    shape.has_tokens |= limit.counts_tokens;
    std::int64_t* const most =
        limit.counts_tokens ? &shape.most_tokens : &shape.most_requests;
    const std::int64_t own = limit.capacity / limit.factor;
    *most = *most == 0 ? own : std::min(*most, own);
    shape.limits.push_back(limit);
  }
  return shape;
}

inline std::string yaml_of(const std::vector<Shape>& shapes) {
  std::string text = "schema:\n";
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    text += "  s" + std::to_string(i) +
            ": {children: {\"*\": {limits: " + shapes[i].yaml() + "}}}\n";
  }
  return text;
}

}  // namespace limitree::traces
