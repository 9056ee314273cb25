// Several levels, one answer: all or nothing.
//
// A store reads the debts of a plan, calls judge(), and writes the charged
// levels, all in one indivisible step.  Only this file knows what operations
// and modes do.

#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/plan.hpp"

namespace limitree {

// Sets the verdict of each of `count` levels from its debt.
//
// REQUIRES: `debt` of each plain level is set, and `usage` of each other level.
// The store has to write each level whose verdict is `charged`: its new TAT is
// now + reset_after, or none if reset_after is zero.  It also writes each level
// for which is_held() is true.  `denied` is Plan::denied.
void judge(Operation operation, Level* levels, std::size_t count,
           bool denied = false);

// What is assumed of buckets that cannot be read.
enum class Buckets : std::uint8_t { kFull, kEmpty };

// Decides *plan as if all buckets were full, or empty.  No level is `charged`,
// and nothing needs to be written.  For code that decides in place of a store.
void decide_assuming(Buckets buckets, Plan* plan);

// What the store has found for a level that is not plain.
inline const Usage& found_in(const Level& level) {
  assert(level.usage != nullptr);
  return *level.usage;
}

// Whether the cost of `level` fits into its bucket.
inline bool fits(const Level& level) {
  if (!level.limit->is_plain()) [[unlikely]]
    return found_in(level).fits;
  return probe(level.limit->rate, level.debt, level.cost).fits;
}

// Whether a bucket is written although the level is not charged.  That happens
// if its state is ahead of the largest debt it may have: a limit was relaxed,
// or a clock stepped back.  Otherwise the caller would stay locked out while
// the answer names a short wait.  So every request that meets such a bucket
// writes it, even if it writes nothing else: a peek, a level in check mode, a
// cost of 0.
inline bool is_held(const Plan& plan, const Level& level) {
  const Limit& limit = *level.limit;
  const bool ahead = limit.is_plain() ? level.debt > limit.rate.burst_offset()
                                      : found_in(level).ahead;
  return ahead && !plan.only_looks;
}

// The time until more tokens are left than the verdict says; 0 if the bucket is
// full.  Not a part of the verdict: few callers ask, and it can take longer to
// compute than the rest.
//
// REQUIRES: the level has been judged, for a plan with wants_growth.
Duration grows_after(const Level& level);

// The state of a level that is not plain, with or without the charge.
inline const Usage::Side& side_of(const Level& level, bool charged) {
  return charged ? found_in(level).charged : found_in(level).left;
}

// The verdict of such a level.
inline Verdict usage_verdict(const Level& level, bool charged) {
  const Usage& found = found_in(level);
  const Usage::Side& side = side_of(level, charged);
  const std::int64_t capacity = level.limit->rate.capacity;
  return {
      .limited = !found.fits,
      .charged = charged && found.changes,
      .soft = found.fits && charged && found.changes && side.used > capacity,
      .remaining = std::max(capacity - side.used, std::int64_t{0}),
      .retry_after = found.fits ? kNotLimited : found.left.fits_after,
      .reset_after = side.full_after,
      .next_after = side.fits_after,
  };
}

// Sets what such a level reports besides its verdict.
inline void note_usage(bool charged, Level* level) {
  level->growth = side_of(*level, charged).grows_after;
  const Usage& found = found_in(*level);
  level->before = found.left.used;
  level->crowded = found.crowded;
  level->ended = found.ended;
}

// The verdict of a plain level.
inline Verdict plain_verdict(const Level& level, const Probe& found,
                             bool charged) {
  return verdict(level.limit->rate, found,
                 charged ? found.debt + found.charge : found.debt);
}

// judge() for kAuthorize and kPeek, inlined into a store that decides in less
// time than a few calls take.  If all levels are known to be plain, the code
// for the others is left out.
template <bool kAllPlain>
[[gnu::always_inline]] inline void judge_charge(Operation operation,
                                                Level* levels,
                                                std::size_t count,
                                                bool denied) {
  const auto is_plain = [](const Level& level) {
    return kAllPlain || level.limit->is_plain();
  };
  bool allowed = !denied;
  for (std::size_t i = 0; i < count; ++i) {
    const Level& level = levels[i];
    const bool fits =
        is_plain(level) ? probe(level.limit->rate, level.debt, level.cost).fits
                        : found_in(level).fits;
    allowed &= fits || !counts(level.mode);
  }
  for (std::size_t i = 0; i < count; ++i) {
    Level& level = levels[i];
    const Limit& limit = *level.limit;
    const bool may = counts_denials(limit.charge)
                         ? !allowed && is_charged(level.mode)
                         : allowed || !is_joint(limit.charge);
    const Probe found = is_plain(level)
                            ? probe(limit.rate, level.debt, level.cost)
                            : Probe{.fits = found_in(level).fits};
    // Assumes that every level that fits is charged: peek() and levels in check
    // mode report the same, but nothing is written.  Denials charge no block.
    const bool applied =
        found.fits ? may : !is_plain(level) && counts_denied(limit.charge);
    Verdict verdict = is_plain(level) ? plain_verdict(level, found, applied)
                                      : usage_verdict(level, applied);
    verdict.charged &= is_asked(operation) && is_charged(level.mode);
    if (!is_plain(level)) note_usage(applied, &level);
    level.applied = applied;
    level.verdict = verdict;
  }
}

}  // namespace limitree
