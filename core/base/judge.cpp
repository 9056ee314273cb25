#include "base/judge.hpp"

namespace limitree {

namespace {

// The verdict of a level whether or not it is charged, which cannot be limited.
Verdict unlimited_verdict(Operation operation, const Level& level,
                          bool charged) {
  Verdict verdict;
  if (level.limit->is_plain()) {
    const Rate& rate = level.limit->rate;
    const Probe found = probe(rate, level.debt, level.cost);
    const Duration debt = operation == Operation::kSpend
                              ? debt_after_spend(rate, found)
                              : debt_after_refund(found);
    verdict = limitree::verdict(rate, found, charged ? debt : found.debt);
  } else {
    verdict = usage_verdict(level, charged);
  }
  verdict.limited = false;
  verdict.soft = false;
  verdict.retry_after = kNotLimited;
  return verdict;
}

void judge_spend(Level* level) {
  level->applied = true;
  level->verdict = unlimited_verdict(Operation::kSpend, *level, true);
  level->verdict.charged &= level->limit->mode != Mode::kCheck;
}

void judge_refund(Level* level) {
  level->applied = level->limit->mode != Mode::kCheck;
  level->verdict =
      unlimited_verdict(Operation::kRefund, *level, level->applied);
  level->verdict.next_after = Duration::zero();  // giving back never waits
}

}  // namespace

void judge(Operation operation, Level* levels, std::size_t count) {
  switch (operation) {
    case Operation::kAuthorize:
    case Operation::kPeek:
      judge_charge<false>(operation, levels, count);
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
