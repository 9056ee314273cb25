// Several levels, one answer: all or nothing.
//
// A store reads the debts of a plan and calls judge() in the same indivisible
// step in which it then writes the charged levels.  This is the only place
// that knows what the operations and modes do.

#ifndef LIMITREE_BASE_JUDGE_HPP
#define LIMITREE_BASE_JUDGE_HPP

#include <cstddef>

#include "base/plan.hpp"

namespace limitree {

// Sets the verdict of each of `count` levels from its debt.
//
// Levels whose verdict is `charged` are to be stored: their new TAT is now +
// reset_after, or none at all if reset_after is zero.
void judge(Operation operation, Level* levels, std::size_t count);

// The same for kAuthorize and kPeek, where the caller's code is to be had: for
// a store that decides in less time than a few calls take.
[[gnu::always_inline]] inline void judge_charge(Operation operation,
                                                Level* levels,
                                                std::size_t count) {
  bool allowed = true;
  for (std::size_t i = 0; i < count; ++i) {
    const Level& level = levels[i];
    const bool fits = probe(level.limit->rate, level.debt, level.cost).fits;
    allowed &= fits || level.limit->mode == Mode::kShadow;
  }
  for (std::size_t i = 0; i < count; ++i) {
    Level& level = levels[i];
    const Limit& limit = *level.limit;
    const Probe found = probe(limit.rate, level.debt, level.cost);
    // As if every level were charged that will be: peek() and check-mode
    // levels report the same without anything being written.
    const bool applied =
        found.fits && (allowed || limit.charge == Charge::kIndependent);
    Verdict verdict = limitree::verdict(
        limit.rate, found, applied ? found.debt + found.charge : found.debt);
    verdict.charged &=
        operation == Operation::kAuthorize && limit.mode != Mode::kCheck;
    level.applied = applied;
    level.verdict = verdict;
  }
}

}  // namespace limitree

#endif  // LIMITREE_BASE_JUDGE_HPP
