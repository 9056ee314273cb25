// What a script gets for a level, numbers of its limit and of the request, and
// what its reply means.

#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "base/demand.hpp"
#include "base/plan.hpp"
#include "base/status.hpp"
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

// How a script knows of limits.  The number of scripts is bounded by the tree,
// not by callers, and by the number that a process makes of either kind: what
// comes later takes the next layout.
enum class Layout : std::uint8_t {
  // Written into it, except what varies from request to request: an unusual
  // cost of each level, an overrun that depends on the pressure, calendar
  // windows.  These are the arguments.
  kWritten,
  // The numbers of all levels are the arguments; their fields are written.
  kPassed,
  // One script for any levels, in a loop.  Arguments: of each family the number
  // of its levels, their fields, and of each level its kind, "1" if the request
  // is denied unless it fits there, when it is charged ("1" if the request is
  // allowed and fits, "2" if it fits, "3" never, "4" always, "5" if the request
  // is allowed or does not fit, "6" if it does not fit, "0" if no operation
  // may charge it), and its numbers.
  kLoop,
  // The same where levels hold units: more numbers.
  kHeldLoop,
};

constexpr bool is_loop(Layout layout) { return layout >= Layout::kLoop; }

// The algorithms as scripts tell them apart.
enum class Kind : std::uint8_t {
  kGcra,      // with an overrun too
  kFixed,     // from the epoch
  kFirst,     // from the first unit
  kCalendar,  // see below
  kTail,
  kTailUp,  // `round: up`
  kStep,
  kLog,  // sliding_window too
  // Limits with `hold`.
  kHeldGcra,
  kHeldFixed,
  kHeldCalendar,
  kConcurrent,
};
// Of those that hold nothing the last is kLog.
inline constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::kLog) + 1;
inline constexpr std::size_t kAllKinds =
    static_cast<std::size_t>(Kind::kConcurrent) + 1;

constexpr bool can_hold(Kind kind) { return kind > Kind::kLog; }

Kind kind_of(const Limit& limit);

// What the numbers of a kind are called; "" are not used.
//
// The server's clock decides in which window a request falls.  Windows by a
// calendar are computed here: the script is sent the one of this process's
// clock, from `start` to `stop`, where the one before begins and where the next
// one ends, and refuses to decide if it finds itself in none of them.  Where
// units are held, it is sent two more windows: a day has 23 hours at least, and
// a hold at most 24.
const std::array<std::string_view, kNumbers>& number_names(Kind kind);
std::uint32_t named_numbers(Kind kind);  // as bits

// Their values, in microseconds, nanoseconds beyond those, or units.  `now` is
// what this process knows of the time.
LevelNumbers numbers_of(const Plan& plan, const Level& level, Instant now);

// Which of them its limit alone does not determine, as bits.
std::uint32_t varying_numbers(const Level& level);

// Which of a level's numbers are arguments, as bits.
std::uint32_t passed_numbers(const Level& level, Layout layout);

// Whether a script of that layout takes units for requests that are to come, by
// plan.lease.
bool takes_lease(const Plan& plan, Layout layout);
// How many arguments it then has for them: two, and the unit of each level
// unless that is written.
inline std::size_t lease_arguments(std::size_t levels, Layout layout) {
  return 2 + (layout == Layout::kPassed ? levels : 0);
}

// When a level is charged, as Layout::kLoop has it.
char when_charged(const Plan& plan, const Level& level);
// Whether the request is denied unless it fits there.
bool may_deny(const Plan& plan, const Level& level);

// Whether the operation charges, or only looks at what that would do.
constexpr bool charges(Operation operation) {
  return is_asked(operation) || operation == Operation::kPeek;
}

// What is asked of a bucket.
Demand demand_of(const Plan& plan, const Level& level, Instant now);

// Sets *usage of a level that is not plain from the word that a script replies
// about it.  False if it is not such a word.
bool read_usage(const Plan& plan, const Level& level, std::string_view word,
                Instant now, Usage* usage);

// ---- limits with `hold` ----------------------------------------------------

// What the number `flags` tells.
inline constexpr std::int64_t kFreesUnsettled = 1;  // `unsettled: free`
inline constexpr std::int64_t kBooksEnded = 2;      // see MixedLevel::keep()
inline constexpr std::int64_t kWantsGrowth = 4;
inline constexpr std::size_t kFlagsNumber = 3;  // its place

// Whether units of `limit` can be held in Redis, whose numbers have 53 bits.
Status can_be_held(const Limit& limit);

// The numbers of such a limit; the fifth is `last`.
LevelNumbers held_numbers(const Plan& plan, const Level& level,
                          std::int64_t last);
LevelNumbers held_calendar_numbers(const Plan& plan, const Level& level,
                                   Instant now);

// read_usage(): the script has looked at the holds.  Fills plan.found, if that
// is wanted.
bool read_held(const Plan& plan, const Level& level, const Demand& demand,
               ReplyNumbers* words, Usage* usage);

}  // namespace limitree::redis
