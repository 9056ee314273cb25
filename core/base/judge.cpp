#include "base/judge.hpp"

namespace limitree {

namespace {

// The verdict of a level that cannot be limited, left with `debt`.
Verdict unlimited_verdict(const Level& level, const Probe& found,
                          Duration debt) {
  Verdict verdict = limitree::verdict(level.limit->rate, found, debt);
  verdict.limited = false;
  verdict.retry_after = kNotLimited;
  verdict.charged &= level.limit->mode != Mode::kCheck;
  return verdict;
}

Probe probe_of(const Level& level) {
  return probe(level.limit->rate, level.debt, level.cost);
}

void judge_spend(Level* level) {
  const Probe found = probe_of(*level);
  level->applied = true;
  level->verdict = unlimited_verdict(
      *level, found, debt_after_spend(level->limit->rate, found));
}

void judge_refund(Level* level) {
  const Probe found = probe_of(*level);
  level->applied = level->limit->mode != Mode::kCheck;
  level->verdict = unlimited_verdict(
      *level, found, level->applied ? debt_after_refund(found) : found.debt);
  level->verdict.next_after = Duration::zero();  // giving back never waits
}

}  // namespace

void judge(Operation operation, Level* levels, std::size_t count) {
  switch (operation) {
    case Operation::kAuthorize:
    case Operation::kPeek:
      judge_charge(operation, levels, count);
      break;
    case Operation::kSpend:
      for (std::size_t i = 0; i < count; ++i) judge_spend(&levels[i]);
      break;
    case Operation::kRefund:
      for (std::size_t i = 0; i < count; ++i) judge_refund(&levels[i]);
      break;
  }
}

}  // namespace limitree
