#include "base/judge.hpp"

namespace limitree {

namespace {

// Judges a level that cannot be limited, charged or not.
void judge_unlimited(Operation operation, bool charged, Level* level) {
  Verdict verdict;
  if (level->limit->is_plain()) {
    const Rate& rate = level->limit->rate;
    const Probe found = probe(rate, level->debt, level->cost);
    const Duration debt = operation == Operation::kSpend
                              ? debt_after_spend(rate, found)
                              : debt_after_refund(found);
    verdict = limitree::verdict(rate, found, charged ? debt : found.debt);
  } else {
    verdict = usage_verdict(*level, charged);
    note_usage(charged, level);
  }
  verdict.limited = false;
  verdict.soft = false;
  verdict.retry_after = kNotLimited;
  level->applied = charged;
  level->verdict = verdict;
}

void judge_spend(Level* level) {
  judge_unlimited(Operation::kSpend, true, level);
  level->verdict.charged &= is_charged(level->mode);
}

void judge_refund(Level* level) {
  const bool charged = is_charged(level->mode);
  judge_unlimited(Operation::kRefund, charged, level);
  level->verdict.next_after = Duration::zero();  // giving back never waits
}

}  // namespace

Duration grows_after(const Level& level) {
  return level.limit->is_plain()
             ? grows_after(level.limit->rate, level.verdict.reset_after)
             : level.growth;
}

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
