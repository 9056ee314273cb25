// What a fuzzer was given, read as decisions; and a limits.yaml made of it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

// Bytes, one after the other; zeros when they are used up.
class RandomInput {
 public:
  RandomInput(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  bool over() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (over()) return 0;
    const std::uint8_t first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }
  bool one_in(int n) { return byte() % n == n - 1; }
  template <typename T, std::size_t kSize>
  T pick(const T (&choices)[kSize]) {
    return choices[byte() % kSize];
  }

 private:
  std::span<const std::uint8_t> rest_;
};

// Returns the text of limits for the paths of limiter_fuzz.cpp: of all
// algorithms, modes and charges, now and then with a mistake.
std::string random_limits(RandomInput* input);
