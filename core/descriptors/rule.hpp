// One rate_limit of a descriptor, as in the files of envoyproxy/ratelimit.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limit.hpp"
#include "base/shared_text.hpp"
#include "base/time.hpp"
#include "descriptors/metadata.hpp"

namespace limitree {

// Numbered as in Envoy's messages.
enum class LimitUnit : std::uint8_t {
  kUnknown = 0,
  kSecond = 1,
  kMinute = 2,
  kHour = 3,
  kDay = 4,
  kMonth = 5,
  kYear = 6,
  kWeek = 7,
};

// All units but kUnknown.  A month has 30 days, a year 365.
struct UnitTraits {
  LimitUnit unit;
  const char* name;  // "MINUTE"
  std::chrono::seconds length;
};
inline constexpr std::array<UnitTraits, 7> kLimitUnits = {{
    {LimitUnit::kSecond, "SECOND", std::chrono::seconds(1)},
    {LimitUnit::kMinute, "MINUTE", std::chrono::seconds(60)},
    {LimitUnit::kHour, "HOUR", std::chrono::seconds(3'600)},
    {LimitUnit::kDay, "DAY", std::chrono::seconds(86'400)},
    {LimitUnit::kMonth, "MONTH", std::chrono::seconds(2'592'000)},
    {LimitUnit::kYear, "YEAR", std::chrono::seconds(31'536'000)},
    {LimitUnit::kWeek, "WEEK", std::chrono::seconds(604'800)},
}};

// "UNKNOWN" for kUnknown.
const char* unit_name(LimitUnit unit);

// The length of `multiplier` units; nothing for 0 of them, and for more than
// 100 years.  REQUIRES: unit is not kUnknown.
std::optional<Duration> unit_length(LimitUnit unit,
                                    std::uint32_t multiplier = 1);

// The unit of that name, in any case; kUnknown if there is none.
LimitUnit unit_of(std::string_view name);

// The unit of that number; nothing for 0, and for numbers without a unit.
std::optional<LimitUnit> unit_of(std::int32_t number);

struct Rule {
  // Without meaning if `unlimited`.  A bucket holds at least one token, so code
  // that decides has to check denies_all().  The policy is the metric key,
  // unless that depends on the request; the index is that of the rule.
  Limit limit;
  std::uint32_t requests_per_unit = 0;   // as written, or `concurrent`
  LimitUnit unit = LimitUnit::kUnknown;  // kUnknown: has a period of its own
  std::uint32_t unit_multiplier = 1;     // else the period is that many units
  bool unlimited = false;
  bool shadow_mode = false;      // over the limit is answered as OK
  bool quota_mode = false;       // denies only together with all other quotas
  bool detailed_metric = false;  // the metric key has the values of all entries
  bool metric_varies = false;    // the metric key depends on the request
  std::vector<SharedText> replaces;          // names of other rules
  std::shared_ptr<const Metadata> metadata;  // null: none

  bool denies_all() const { return !unlimited && requests_per_unit == 0; }
};

// The rule of `requests` per `multiplier` units in windows from the epoch on.
// A bucket counts to kMaxUnits, or to one per nanosecond, if `requests` is
// more. REQUIRES: unit_length() knows their length.
Rule window_rule(std::uint32_t requests, LimitUnit unit,
                 std::uint32_t multiplier = 1);

// What follows the segments in the names of a rule's buckets: its unit or
// period, so that rules of different lengths never share a bucket, and the mark
// of its algorithm.
std::string bucket_suffix(const Rule& rule);

// "30 per MINUTE, shadow_mode", for people.
std::string rule_in_words(const Rule& rule);

}  // namespace limitree
