// level_numbers.hpp for limits with `hold`.

#pragma once

#include <chrono>
#include <cstdint>

#include "base/demand.hpp"
#include "base/plan.hpp"
#include "base/status.hpp"
#include "base/time.hpp"
#include "store/redis/script/script_numbers.hpp"

namespace limitree::redis {

// What `flags` of a limit with `hold` tells.
inline constexpr std::int64_t kFreesUnsettled = 1;  // `unsettled: free`
inline constexpr std::int64_t kBooksEnded = 2;      // see MixedLevel::keep()
inline constexpr std::int64_t kWantsGrowth = 4;
inline constexpr std::size_t kFlagsNumber = 3;  // its place

// Whether units of `limit` can be held in Redis, whose numbers have 53 bits:
// its bucket fills within so many nanoseconds.
inline constexpr Duration kMaxHeldOffset = std::chrono::days(100);
Status can_be_held(const Limit& limit);

// The numbers of a limit with `hold`; the fifth is `last`.
LevelNumbers held_numbers(const Plan& plan, const Level& level,
                          std::int64_t last);
LevelNumbers held_calendar_numbers(const Plan& plan, const Level& level,
                                   Instant now);

// The script has looked at the holds: what is used, and when how much of it is
// free.  Fills plan.found, if that is wanted.  False if the words are not those
// of held_lua.hpp.
bool read_held(const Plan& plan, const Level& level, const Demand& demand,
               ReplyNumbers* words, Usage* usage);

}  // namespace limitree::redis
