// Several levels, one answer: all or nothing.
//
// A store reads the debts of a plan and calls judge() in the same indivisible
// step in which it then writes the charged levels.  This is the only place
// that knows what the operations and modes do.

#ifndef LIMITREE_BASE_JUDGE_HPP
#define LIMITREE_BASE_JUDGE_HPP

#include "base/plan.hpp"

namespace limitree {

// Sets every level's verdict from its debt.
//
// Levels whose verdict is `charged` are to be stored: their new TAT is now +
// reset_after, or none at all if reset_after is zero.
void judge(Plan* plan);

}  // namespace limitree

#endif  // LIMITREE_BASE_JUDGE_HPP
