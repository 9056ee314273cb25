#include "base/judge.hpp"

namespace limitree {

namespace {

bool counts(const Level& level) { return level.limit->mode != Mode::kShadow; }

Probe probe_of(const Level& level) {
  return probe(level.limit->rate, level.debt, level.cost);
}

// As if every level were charged that will be; peek() and check-mode levels
// report the same without anything being written.
void judge_charge(Plan* plan) {
  bool allowed = true;
  for (const Level& level : plan->levels) {
    if (counts(level) && !probe_of(level).fits) allowed = false;
  }
  for (Level& level : plan->levels) {
    const Probe found = probe_of(level);
    level.applied =
        found.fits && (allowed || level.limit->charge == Charge::kIndependent);
    level.verdict =
        verdict(level.limit->rate, found,
                level.applied ? found.debt + found.charge : found.debt);
  }
}

void judge_spend(Plan* plan) {
  for (Level& level : plan->levels) {
    const Probe found = probe_of(level);
    const Rate& rate = level.limit->rate;
    level.applied = true;
    level.verdict = verdict(rate, found, debt_after_spend(rate, found));
    level.verdict.limited = false;
    level.verdict.retry_after = kNotLimited;
  }
}

void judge_refund(Plan* plan) {
  for (Level& level : plan->levels) {
    const Probe found = probe_of(level);
    level.applied = level.limit->mode != Mode::kCheck;
    level.verdict =
        verdict(level.limit->rate, found,
                level.applied ? debt_after_refund(found) : found.debt);
    level.verdict.limited = false;
    level.verdict.retry_after = kNotLimited;
    level.verdict.next_after = Duration::zero();  // giving back never waits
  }
}

}  // namespace

void judge(Plan* plan) {
  switch (plan->operation) {
    case Operation::kAuthorize:
    case Operation::kPeek:
      judge_charge(plan);
      break;
    case Operation::kSpend:
      judge_spend(plan);
      break;
    case Operation::kRefund:
      judge_refund(plan);
      break;
  }
  for (Level& level : plan->levels) {
    if (plan->operation == Operation::kPeek ||
        level.limit->mode == Mode::kCheck) {
      level.verdict.charged = false;
    }
  }
}

}  // namespace limitree
