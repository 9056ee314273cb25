// What a limiter answered, and the rules that hold for any one answer.

#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "limitree.h"

inline void require(bool fact, int line = __builtin_LINE()) {
  if (fact) return;
  std::fprintf(stderr, "what line %d requires does not hold\n", line);
  std::abort();
}

struct Answer {
  limitree_decision decision;
  std::vector<limitree_level> levels;
};

// Whether both say the same in every field but `charged`, in which a peek
// differs from what it foretells.
bool same(const Answer& a, const Answer& b);

// Whether both find a bucket in the same state.
bool same_state(const limitree_level& a, const limitree_level& b);

// Aborts if `answer`, to an operation, breaks a rule: for each level, for what
// they give together, and for the five fields.
void check_answer(const Answer& answer, std::int32_t operation);
