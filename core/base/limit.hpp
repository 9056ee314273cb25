// One limit as written in limits.yaml, checked once and ready for arithmetic.

#ifndef LIMITREE_BASE_LIMIT_HPP
#define LIMITREE_BASE_LIMIT_HPP

#include <cstdint>
#include <string>

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

enum class Mode : std::uint8_t {
  kEnforce,  // counts towards the decision and is charged
  kShadow,   // never denies; charged when it fits; reported per level
  kCheck,    // counts towards the decision, never charged
};

enum class Charge : std::uint8_t {
  kAllOrNothing,  // charged only if the whole request is allowed
  kIndependent,   // charged whenever this level fits
};

enum class Algorithm : std::uint8_t { kGcra };

struct Limit {
  Rate rate;
  Duration period{};       // as configured; the rate is what decides
  std::int64_t count = 0;  // tokens per period
  std::int64_t cost = 1;   // multiplies the request's cost at this level
  Mode mode = Mode::kEnforce;
  Charge charge = Charge::kAllOrNothing;
  Algorithm algorithm = Algorithm::kGcra;
  std::uint32_t index = 0;  // position in Tree::limits()
  std::string name;         // tells apart the limits of one node; may be empty
  std::string policy;       // tree path: "user:*/trade", "ip:*#daily"

  // What follows the path in the bucket's name: empty, or the limit's name
  // where its node has several.
  std::string suffix;
};

const char* mode_name(Mode mode);
const char* charge_name(Charge charge);
const char* algorithm_name(Algorithm algorithm);

}  // namespace limitree

#endif  // LIMITREE_BASE_LIMIT_HPP
