#include "base/judge.hpp"

#include "base/demand.hpp"
#include "base/inline_vector.hpp"

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

void judge(Operation operation, Level* levels, std::size_t count, bool denied) {
  switch (operation) {
    case Operation::kAuthorize:
    case Operation::kReserve:
    case Operation::kPeek:
    case Operation::kLook:
      judge_charge<false>(operation, levels, count, denied);
      break;
    case Operation::kSpend:
      for (std::size_t i = 0; i < count; ++i) judge_spend(&levels[i]);
      break;
    case Operation::kRefund:
      for (std::size_t i = 0; i < count; ++i) judge_refund(&levels[i]);
      break;
    case Operation::kSettle:
    case Operation::kExtend:
      for (std::size_t i = 0; i < count; ++i) {
        judge_unlimited(operation, true, &levels[i]);
      }
      break;
  }
}

// Full and empty mean the same in every algorithm; waits are those of GCRA.
void decide_assuming(Buckets buckets, Plan* plan) {
  constexpr Instant kNow{};
  InlineVector<Usage, 4> usages;
  usages.resize(plan->levels.size());
  for (std::size_t i = 0; i < plan->levels.size(); ++i) {
    Level& level = plan->levels[i];
    const Rate& rate = level.limit->rate;
    const std::int64_t ceiling = ceiling_of(*level.limit, plan->pressure);
    level.debt = buckets == Buckets::kFull ? Duration::zero()
                                           : rate.emission_interval * ceiling;
    if (level.limit->is_plain()) continue;
    Overdraft bucket(kNow + level.debt, rate.emission_interval, ceiling, kNow);
    usages[i] = evaluate({plan->operation, level.cost, ceiling, rate.capacity,
                          kNow, plan->wants_growth, level.limit->charge},
                         &bucket);
    level.usage = &usages[i];
  }
  judge(plan->operation, plan->levels.data(), plan->levels.size(),
        plan->denied);
  for (Level& level : plan->levels) level.verdict.charged = false;
}

}  // namespace limitree
