// The answer for a request, aggregated from the verdicts of its levels.

#pragma once

#include <array>
#include <cstdint>

#include "base/plan.hpp"

namespace limitree {

// A default Decision is the answer for a path without limits.
struct Decision {
  bool limited = false;
  bool unlimited = true;               // no level counted
  bool shadowed = false;               // a shadow level would have denied
  bool soft = false;                   // allowed only thanks to an overrun
  bool forgot = false;                 // of the plan
  Source source = Source::kStore;      // of the plan
  std::int64_t limit = -1;             // capacity of the binding level
  std::int64_t remaining = -1;         // tokens left at the binding level
  Duration retry_after = kNotLimited;  // a wait or kNever if limited
  Duration reset_after = Duration(0);  // until all counted levels are full
  Duration binding_reset_after = Duration(0);  // of the binding level alone
  Duration next_after = Duration(0);  // until an identical request fits
  std::int32_t binding = -1;          // index of the binding level; -1: none
  std::int32_t level_count = 0;       // levels of the plan, counted or not
  std::int32_t held = 0;  // levels that hold now, or whose hold was settled or
                          // extended; set by Limiter
};

// Whether callers hear nothing of a level that was judged: it counts denials,
// and does not deny itself.
inline bool is_silent(const Level& level) {
  return counts_denials(level.limit->charge) && !level.verdict.limited;
}

// Joins the verdicts that judge() has set in `plan`.  A level that counts
// limits the request if it denies, whether or not its charge depends on others.
//
// The binding level, which gives limit, remaining and binding_reset_after, is
// the one with the longest wait: among the limited levels if there are any,
// else among all that count.  Ties go to the fewest remaining, then to the
// deepest.
Decision aggregate(const Plan& plan);
void aggregate_all(const Plan& plan, Decision* decision);  // in place

// Whether the verdict of a plan's only level is the decision: aggregate()
// comes to the same, in twice the time.
inline bool answers_alone(const Level& level) {
  return counts(level.mode) && !level.verdict.limited && !is_silent(level);
}

inline void answer_alone(const Plan& plan, Decision* out) {
  const Level& level = plan.levels[0];
  out->limited = false;
  out->unlimited = false;
  out->shadowed = false;
  out->soft = level.verdict.soft;
  out->forgot = plan.forgot;
  out->source = plan.source;
  out->limit = level.limit->rate.capacity;
  out->remaining = level.verdict.remaining;
  out->retry_after = kNotLimited;
  out->reset_after = level.verdict.reset_after;
  out->binding_reset_after = level.verdict.reset_after;
  out->next_after = level.verdict.next_after;
  out->binding = 0;
  out->level_count = 1;
}

inline void aggregate(const Plan& plan, Decision* decision) {
  if (plan.levels.size() == 1 && answers_alone(plan.levels[0])) {
    return answer_alone(plan, decision);
  }
  aggregate_all(plan, decision);
}

// The response of CL.THROTTLE (redis-cell): limited, limit, remaining,
// retry_after, reset_after.  Times are seconds, rounded up; -1 stands for "not
// limited" and for kNever.
using ThrottleReply = std::array<std::int64_t, 5>;
ThrottleReply to_throttle_reply(const Decision& decision);

}  // namespace limitree
