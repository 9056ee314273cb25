// One limit as written in limits.yaml, checked once and ready for arithmetic.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/shared_text.hpp"
#include "base/status.hpp"
#include "base/time.hpp"

namespace limitree {

// How fast a bucket fills, and how much it holds. make_rate() checks that both
// are positive and that burst_offset() is in range.
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

// Returns the rate of `count` tokens per `period` with at most `capacity`
// tokens, or kInvalidConfig with the rule that is broken.
Result<Rate> make_rate(std::int64_t count, Duration period,
                       std::int64_t capacity);

// Bit 0: the level does not count.  Bit 1: the level is not charged.
enum class Mode : std::uint8_t {
  kEnforce = 0,  // counts towards the decision and is charged
  kShadow = 1,   // never denies; charged when it fits; reported per level
  kCheck = 2,    // counts towards the decision, never charged
  kIdle = 3,     // neither; only through a Part, or kCheck in shadow
};

// In the order of the enumerators; limits.yaml can state the first three.
inline constexpr std::array<std::string_view, 4> kModeNames = {
    "enforce", "shadow", "check", "idle"};

constexpr const char* mode_name(Mode mode) {
  return kModeNames[static_cast<std::size_t>(mode)].data();
}

constexpr bool counts(Mode mode) {
  return (static_cast<unsigned>(mode) & 1u) == 0;
}
constexpr bool is_charged(Mode mode) {
  return (static_cast<unsigned>(mode) & 2u) == 0;
}

// What a request does with the levels of one path: all that the modes of their
// limits allow (0), or less, by the bits of Mode.
enum class Part : std::uint8_t { kCharge = 0, kSpendIfFits = 1, kCheck = 2 };

constexpr Mode mode_of(Mode mode, Part part) {
  return static_cast<Mode>(static_cast<unsigned>(mode) |
                           static_cast<unsigned>(part));
}

// The same in shadow: it never denies, and what is not charged still is not.
constexpr Mode in_shadow(Mode mode) {
  return mode_of(mode, Part::kSpendIfFits);
}

// The mode of a bucket that two paths reach: it counts if it counts for one of
// them, and is charged if it is charged for one of them.
constexpr Mode join(Mode a, Mode b) {
  return static_cast<Mode>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}

// When a request charges a level.  Bit 0: whatever other levels decide.  Bit 1:
// a cost that does not fit is charged, too, so that a bucket may owe more than
// it holds; a cost of 0 is limited there if more is in use than the bucket
// holds.  can_charge() tells where that is possible.
enum class Charge : std::uint8_t {
  kAllOrNothing = 0,  // if the whole request is allowed
  kIndependent = 1,   // if this level fits
  kAllOrDenying = 2,  // if the request is allowed, or if this level denies it
  kEveryHit = 3,      // always
  kDenials = 4,       // if other levels deny the request, and this one does not
};

// Whether a level that fits is charged only if the whole request is allowed.
constexpr bool is_joint(Charge charge) {
  return (static_cast<unsigned>(charge) & 1u) == 0;
}
constexpr bool counts_denied(Charge charge) {
  return (static_cast<unsigned>(charge) & 2u) != 0;
}
// Whether it counts denials.  Each of them costs the same, whatever the request
// costs, and nobody hears of the level unless it denies.
constexpr bool counts_denials(Charge charge) {
  return charge == Charge::kDenials;
}

enum class Algorithm : std::uint8_t {
  kGcra,
  kFixedWindow,    // fixed_window.hpp
  kSlidingLog,     // unit_log.hpp
  kSlidingWindow,  // unit_log.hpp
  kSlidingTail,    // sliding_tail.hpp
  kLeakyStep,      // leaky_step.hpp: leaky_bucket with `drain: step`
  kConcurrent,     // held_bucket.hpp: nothing but what is held
};

// What a store keeps of one bucket.
enum class Kept : std::uint8_t {
  kTat,     // an instant, as GCRA does
  kCounts,  // one or two numbers of units, and where their window begins
  kLog,     // the instants of what was admitted
  kHolds,   // units that are held: hold.hpp
};

// Everything about an algorithm except its arithmetic.  A new algorithm is an
// enumerator, a line in kTraits and a header.  The compiler then names every
// switch that lacks it, and the tests that iterate over kAlgorithms name every
// page, vector and script that lacks it.
struct AlgorithmTraits {
  Algorithm algorithm;
  const char* name;    // in messages, and after `algorithm:`
  const char* rule;    // the full text after `algorithm:` that selects it
  const char* suffix;  // of a bucket's name, see Limit::suffix
  Kept kept;
};

inline constexpr std::array kTraits = std::to_array<AlgorithmTraits>({
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
    {Algorithm::kConcurrent, "concurrent", "", "!cc", Kept::kHolds},
});

constexpr const AlgorithmTraits& traits_of(Algorithm algorithm) {
  return kTraits[static_cast<std::size_t>(algorithm)];
}

// Those that `algorithm:` selects.  A limit with `concurrent:` has no other.
inline constexpr std::span<const AlgorithmTraits, kTraits.size() - 1>
    kAlgorithms{kTraits.begin(), kTraits.size() - 1};

// The table has the order of the enumerators, so that they are its indices.
static_assert([] {
  for (std::size_t i = 0; i < kTraits.size(); ++i) {
    if (kTraits[i].algorithm != static_cast<Algorithm>(i)) return false;
  }
  return true;
}());

// Whether limits of that algorithm can be charged in that way.  Only a counter
// can hold a cost that does not fit: as a debt it would deny for longer and
// longer.
constexpr bool can_charge(Charge charge, Algorithm algorithm) {
  return !counts_denied(charge) || algorithm == Algorithm::kFixedWindow;
}

// Where the windows of a fixed_window begin.
enum class Align : std::uint8_t {
  kEpoch,     // at whole multiples of the period since 1970, UTC
  kFirst,     // at the first unit admitted after the last window ended
  kCalendar,  // at midnight, Monday or the first, somewhere: calendar.hpp
};

class Calendar;  // base/calendar.hpp

// What a limit needs if it is not plain GCRA.
struct Rules {
  Align align = Align::kEpoch;     // of fixed_window
  bool round_up = false;           // of sliding_tail
  Duration bucket{};               // of sliding_window: width of a sub-window
  std::int64_t overrun = 0;        // percent above the capacity
  bool overrun_when_idle = false;  // scaled by 1 - pressure
  std::shared_ptr<const Calendar> calendar;  // of Align::kCalendar
  Duration hold{};     // how long units may be held; 0: not at all
  bool frees = false;  // what nobody settles is free, instead of charged
};

// How busy the process says it is, in millionths: 0 idle ... kFullPressure.
inline constexpr std::int32_t kFullPressure = 1'000'000;

// The most units in a bucket that is not plain GCRA, overrun included.
inline constexpr std::int64_t kMaxUnits = 4'000'000'000;

// The most units of a sliding_log, which keeps an instant for each unit.
inline constexpr std::int64_t kMaxLogUnits = 10'000;

// The highest percentage of an overrun, and most sub-windows of a
// sliding_window.
inline constexpr std::int64_t kMaxOverrun = 1000;
inline constexpr std::int64_t kMaxWindowBuckets = 1000;

// What a limit counts unless it says otherwise.
inline constexpr std::string_view kRequestUnit = "request";

// Whether `name` matches [a-z][a-z0-9_]*, as the name of a unit must.
bool is_unit_name(std::string_view name);

struct Limit {
  // The index of a limit that a request states itself.
  static constexpr std::uint32_t kNoIndex = UINT32_MAX;

  Rate rate;
  Duration period{};       // as configured; the rate is what decides
  std::int64_t count = 0;  // tokens per period
  std::int64_t cost = 1;   // multiplies the request's cost at this level
  // How long its units may be leased: lease.hpp; 0: not at all.  The capacity
  // of the rate is less by that much.
  Duration lease{};
  // Where little is free, a process denies by itself for a while: LeaseCache.
  bool denies_ahead = false;
  Mode mode = Mode::kEnforce;
  Charge charge = Charge::kAllOrNothing;
  Algorithm algorithm = Algorithm::kGcra;
  std::uint32_t index = 0;  // among those of a Tree
  // Null for plain GCRA, which most limits are.
  std::shared_ptr<const Rules> rules;
  SharedText unit;    // what it counts, "tokens"; empty: kRequestUnit
  SharedText name;    // distinguishes the limits of one node; may be empty
  SharedText policy;  // tree path: "user:*/trade", "ip:*#daily"

  // What follows the path in the bucket's name: the name of the limit if its
  // node has several, then a mark of the algorithm, so that algorithms never
  // read each other's state: "", "#daily", "!fw", "#daily!fw".
  SharedText suffix;

  bool is_plain() const { return rules == nullptr; }
  // Whether no request charges it: see make_block().
  bool is_block() const { return counts_denials(charge) && !is_charged(mode); }
  bool is_leased() const { return lease > Duration::zero(); }
  bool holds() const { return !is_plain() && rules->hold > Duration::zero(); }

  // The suffix without the algorithm: how the policy ends.
  std::string_view name_suffix() const {
    return suffix.view().substr(0, suffix.view().find('!'));
  }
};

// The most that a bucket of `limit` admits at that pressure: its capacity plus
// the overrun.
std::int64_t ceiling_of(const Limit& limit, std::int32_t pressure);

// The same at pressure 0: no bucket ever owes more.
std::int64_t highest_ceiling_of(const Limit& limit);

// The length of a window of `limit`, or the time an empty bucket takes to fill.
// 0 for Algorithm::kConcurrent, which counts no uses within a time.
Duration window_of(const Limit& limit);

// Returns a limit of `count` units in each window of `period`, from the epoch,
// that counts every hit: Charge::kEveryHit.  A count of 0 denies every hit.
// REQUIRES: 0 <= count <= kMaxUnits, and a period of whole microseconds, at
// most kMaxBurstOffset.
Limit make_counter(std::int64_t count, Duration period);

// Sets what makes *limit a block: it denies every request while it owes
// anything, and only block_for() charges it.
void make_block(Limit* limit);

// The limit that charges the bucket of `block` when that is spent: whatever it
// owed before, it then owes `time`.  A bucket owes at most what it holds, which
// is `time` here.
// REQUIRES: block.is_block(), and 0 < time <= kMaxBurstOffset.
Limit block_for(const Limit& block, Duration time);

// Whether the algorithm counts units in windows instead of refilling a bucket.
constexpr bool is_window(Algorithm algorithm) {
  return traits_of(algorithm).kept != Kept::kTat;
}

// A part of a whole, as one integer over another: 1/8, or 0.125 as 125/1000.
// REQUIRES: 0 <= part <= whole <= kMaxWhole, whole > 0.
struct Share {
  static constexpr std::int64_t kMaxWhole = 1'000'000'000;

  std::int64_t part = 1;
  std::int64_t whole = 1;

  constexpr bool is_all() const { return part == whole; }

  friend bool operator==(const Share&, const Share&) = default;
};

// Returns `share` of `number`, rounded down, without overflow.
// REQUIRES: number >= 0.
constexpr std::int64_t share_of(std::int64_t number, Share share) {
  return number / share.whole * share.part +
         number % share.whole * share.part / share.whole;
}

// Whether `part` is at least `share` of `whole`.  REQUIRES: both >= 0.
constexpr bool reaches(std::int64_t part, std::int64_t whole, Share share) {
  __extension__ using Wide = __int128;
  return Wide{part} * share.whole >= Wide{whole} * share.part;
}

// Multiplies the rate and the capacity of `rate` by `share`.  Never more than
// that, except that a bucket holds at least one token.
// REQUIRES: share.part > 0.
Rate share_of(const Rate& rate, Share share);

}  // namespace limitree
