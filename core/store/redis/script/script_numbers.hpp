// Numbers in the arguments and the replies of scripts.

#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "base/time.hpp"

namespace limitree::redis {

// What a script gets for a level.
inline constexpr std::size_t kNumbers = 10;
inline constexpr std::size_t kLoopNumbers = 6;  // without kinds that can hold
using LevelNumbers = std::array<std::int64_t, kNumbers>;

constexpr std::int64_t micros_of(Instant at) {
  return at.time_since_epoch() / kMicrosecond;
}
constexpr std::int64_t micros_of(Duration time) { return time / kMicrosecond; }

// Takes decimal numbers, between colons, off the front of a word; of an empty
// one they are 0.
class ReplyNumbers {
 public:
  explicit ReplyNumbers(std::string_view text)
      : text_(text), empty_(text.empty()) {}

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
  bool ok() const { return ok_; }
  bool all_read() const { return empty_ || (ok_ && ended_); }

 private:
  std::string_view text_;
  const bool empty_;
  bool ok_ = true;
  bool ended_ = false;
};

}  // namespace limitree::redis
