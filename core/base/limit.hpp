// One limit as written in limits.yaml, checked once and ready for arithmetic.

#ifndef LIMITREE_BASE_LIMIT_HPP
#define LIMITREE_BASE_LIMIT_HPP

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/shared_text.hpp"
#include "base/status.hpp"
#include "base/time.hpp"

namespace limitree {

// How fast a bucket fills and how much it holds.  Made by make_rate(), which
// has checked that both are positive and that burst_offset() is in range.
struct Rate {
  Duration emission_interval{};  // time in which the bucket gains one token
  std::int64_t capacity = 0;     // tokens in a full bucket: max_burst + 1

  // The time an empty bucket takes to fill.  The tolerance tau of the ATM
  // papers is one emission_interval less: it leaves out the first token.
  constexpr Duration burst_offset() const {
    return emission_interval * capacity;
  }

  friend bool operator==(const Rate&, const Rate&) = default;
};

// The longest burst offset, so that now + burst offset stays in range.
inline constexpr Duration kMaxBurstOffset = std::chrono::days(36525);

// Returns the rate of `count` tokens per `period` and `capacity` tokens at
// most, or kInvalidConfig with the rule that was broken.
Result<Rate> make_rate(std::int64_t count, Duration period,
                       std::int64_t capacity);

// Whether a level does not count (1) and is not charged (2), as bits.
enum class Mode : std::uint8_t {
  kEnforce = 0,  // counts towards the decision and is charged
  kShadow = 1,   // never denies; charged when it fits; reported per level
  kCheck = 2,    // counts towards the decision, never charged
  kIdle = 3,     // neither: no limit's own, but see Part
};

constexpr bool counts(Mode mode) {
  return (static_cast<unsigned>(mode) & 1u) == 0;
}
constexpr bool is_charged(Mode mode) {
  return (static_cast<unsigned>(mode) & 2u) == 0;
}

// What a request does with the levels of one of its paths: all that their
// limits' modes do (0), or less of it, by the bits of Mode.
enum class Part : std::uint8_t { kCharge = 0, kSpendIfFits = 1, kCheck = 2 };

constexpr Mode mode_of(Mode mode, Part part) {
  return static_cast<Mode>(static_cast<unsigned>(mode) |
                           static_cast<unsigned>(part));
}

// Of a bucket that two paths reach: it counts if it does for one of them, and
// so with charging it.
constexpr Mode join(Mode a, Mode b) {
  return static_cast<Mode>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}

enum class Charge : std::uint8_t {
  kAllOrNothing,  // charged only if the whole request is allowed
  kIndependent,   // charged whenever this level fits
};

enum class Algorithm : std::uint8_t {
  kGcra,
  kFixedWindow,    // fixed_window.hpp
  kSlidingLog,     // unit_log.hpp
  kSlidingWindow,  // unit_log.hpp
  kSlidingTail,    // sliding_tail.hpp
  kLeakyStep,      // leaky_step.hpp: leaky_bucket with `drain: step`
};

// What a store keeps of one bucket.
enum class Kept : std::uint8_t {
  kTat,     // an instant, as GCRA does
  kCounts,  // one or two numbers of units, and where their window begins
  kLog,     // the instants of what was admitted
};

// All that is known of an algorithm besides its arithmetic.  A new one is an
// enumerator, a line here and its header; the compiler names every switch that
// lacks it, and the tests that go through this table every page, vector and
// script.
struct AlgorithmTraits {
  Algorithm algorithm;
  const char* name;    // in messages, and after `algorithm:`
  const char* rule;    // all that is written after `algorithm:` to have it
  const char* suffix;  // of a bucket's name, see Limit::suffix
  Kept kept;
};

inline constexpr std::array kAlgorithms = std::to_array<AlgorithmTraits>({
    {Algorithm::kGcra, "gcra", "gcra", "", Kept::kTat},
    {Algorithm::kFixedWindow, "fixed_window", "fixed_window", "!fw",
     Kept::kCounts},
    {Algorithm::kSlidingLog, "sliding_log", "sliding_log", "!sl", Kept::kLog},
    {Algorithm::kSlidingWindow, "sliding_window", "sliding_window", "!sw",
     Kept::kLog},
    {Algorithm::kSlidingTail, "sliding_tail", "sliding_tail", "!st",
     Kept::kCounts},
    {Algorithm::kLeakyStep, "leaky_bucket", "leaky_bucket, drain: step", "!ls",
     Kept::kTat},
});

constexpr const AlgorithmTraits& traits_of(Algorithm algorithm) {
  return kAlgorithms[static_cast<std::size_t>(algorithm)];
}

// The table has the order of the enumerators, so that they are its indices.
static_assert([] {
  for (std::size_t i = 0; i < kAlgorithms.size(); ++i) {
    if (kAlgorithms[i].algorithm != static_cast<Algorithm>(i)) return false;
  }
  return true;
}());

// Where the windows of a fixed_window begin.
enum class Align : std::uint8_t {
  kEpoch,     // at whole multiples of the period since 1970, UTC
  kFirst,     // at the first unit that is admitted after the last one ended
  kCalendar,  // at midnight, Monday or the first, somewhere: calendar.hpp
};

class Calendar;  // base/calendar.hpp

// What a limit has beyond what plain GCRA needs.
struct Rules {
  Align align = Align::kEpoch;     // of fixed_window
  bool round_up = false;           // of sliding_tail
  Duration bucket{};               // of sliding_window: width of a sub-window
  std::int64_t overrun = 0;        // percent above the capacity
  bool overrun_when_idle = false;  // of it only 1 - pressure
  std::shared_ptr<const Calendar> calendar;  // of Align::kCalendar
};

// How busy the process says it is, in millionths: 0 idle ... kFullPressure.
inline constexpr std::int32_t kFullPressure = 1'000'000;

// The most units of a bucket, overrun included, that is not plain GCRA.
inline constexpr std::int64_t kMaxUnits = 4'000'000'000;

// The most units of a sliding_log, which keeps an instant for each of them.
inline constexpr std::int64_t kMaxLogUnits = 10'000;

// The most percent of an overrun, and sub-windows of a sliding_window.
inline constexpr std::int64_t kMaxOverrun = 1000;
inline constexpr std::int64_t kMaxWindowBuckets = 1000;

struct Limit {
  Rate rate;
  Duration period{};       // as configured; the rate is what decides
  std::int64_t count = 0;  // tokens per period
  std::int64_t cost = 1;   // multiplies the request's cost at this level
  Mode mode = Mode::kEnforce;
  Charge charge = Charge::kAllOrNothing;
  Algorithm algorithm = Algorithm::kGcra;
  std::uint32_t index = 0;  // position in Tree::limits()
  // Null for plain GCRA, which most limits are.
  std::shared_ptr<const Rules> rules;
  SharedText name;    // tells apart the limits of one node; may be empty
  SharedText policy;  // tree path: "user:*/trade", "ip:*#daily"

  // What follows the path in the bucket's name: the limit's name where its node
  // has several, then what tells the state of one algorithm from another's:
  // "", "#daily", "!fw", "#daily!fw".
  SharedText suffix;

  bool is_plain() const { return rules == nullptr; }

  // The suffix without the algorithm: how the policy ends.
  std::string_view name_suffix() const {
    return suffix.view().substr(0, suffix.view().find('!'));
  }
};

// The most that a bucket of `limit` admits at that pressure: its capacity, and
// what the overrun adds.
std::int64_t ceiling_of(const Limit& limit, std::int32_t pressure);

// The same for a pressure of 0: no bucket ever owes more.
std::int64_t highest_ceiling_of(const Limit& limit);

// How long a window of `limit` is, or an empty bucket takes to fill.
Duration window_of(const Limit& limit);

// Whether it counts units in windows, rather than filling a bucket again.
constexpr bool is_window(Algorithm algorithm) {
  return traits_of(algorithm).kept != Kept::kTat;
}

const char* mode_name(Mode mode);
const char* charge_name(Charge charge);

}  // namespace limitree

#endif  // LIMITREE_BASE_LIMIT_HPP
