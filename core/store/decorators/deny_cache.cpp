#include "store/decorators/deny_cache.hpp"

#include <algorithm>

namespace limitree {

namespace {

bool counts(const Level& level) { return counts(level.mode); }

// Whether some level denies the request until a known instant.  A cost above
// the capacity says nothing about the bucket.
bool denied_for_a_time(const Plan& plan) {
  return std::ranges::any_of(plan.levels, [](const Level& level) {
    return counts(level) && level.verdict.limited &&
           level.verdict.retry_after != kNever;
  });
}

// Whether the answer shows that later requests may be denied.
bool brings_denials(const Plan& plan) {
  return std::ranges::any_of(plan.levels, [](const Level& level) {
    return counts(level) &&
           (level.verdict.limited || level.verdict.remaining == 0);
  });
}

// The cache keeps TATs, which say nothing about other algorithms.
bool has_plain(const Plan& plan) {
  return std::ranges::any_of(
      plan.levels, [](const Level& level) { return level.limit->is_plain(); });
}

// Whether the cache may hold all levels.  A denied request still charges
// independent levels that fit, and those that count denials.
bool is_exact(const Plan& plan) {
  return plan.all_plain() &&
         std::ranges::all_of(plan.levels, [](const Level& level) {
           return level.limit->charge == Charge::kAllOrNothing ||
                  level.limit->is_block();
         });
}

// Whether the cache holds a debt above the capacity of a level: it is from
// another limit or another time.  The store would have reduced it.
bool knows_too_much(const Plan& plan) {
  return std::ranges::any_of(plan.levels, [](const Level& level) {
    return level.debt > level.limit->rate.burst_offset();
  });
}

}  // namespace

Status DenyCache::decide(Plan* plan) {
  Checkpoint checkpoint;
  if (denies(plan, &checkpoint)) return {};
  return answered(Pending::Kind::kDecide, plan, store_->decide(plan),
                  checkpoint);
}

Status DenyCache::reset(const Plan& plan) {
  Status status = store_->reset(plan);
  known_.forget(plan);
  return status;
}

bool DenyCache::start(Pending* pending, Status* status) {
  Checkpoint checkpoint;
  if (pending->kind() == Pending::Kind::kDecide &&
      denies(&pending->plan(), &checkpoint)) {
    *status = {};
    return true;
  }
  return pass_on(pending, checkpoint, status);
}

bool DenyCache::denies(Plan* plan, Checkpoint* checkpoint) {
  *checkpoint = {clock_.now(), known_.forgets()};
  const bool may_deny = plan->operation == Operation::kAuthorize ||
                        plan->operation == Operation::kPeek;
  if (!may_deny || !may_deny_.load(std::memory_order_relaxed) ||
      !is_exact(*plan)) {
    return false;
  }
  known_.peek(plan, checkpoint->at);
  if (!denied_for_a_time(*plan) || knows_too_much(*plan)) return false;
  plan->source = Source::kDenyCache;
  return true;
}

Status DenyCache::answered(Pending::Kind kind, Plan* plan, Status status,
                           const Checkpoint& checkpoint) {
  if (kind == Pending::Kind::kReset) {
    known_.forget(*plan);
    return status;
  }
  std::uint64_t generation = checkpoint.generation;
  if (plan->operation == Operation::kRefund) {
    // Also after a failure: the refund may have happened.
    known_.forget(*plan);
    ++generation;  // of this refund; any other makes the answer useless
  }
  // Answers that did not come from the store say nothing about its buckets.
  if (status.ok() && plan->source == Source::kStore && has_plain(*plan)) {
    known_.learn(*plan, checkpoint.at, generation);
    if (!may_deny_.load(std::memory_order_relaxed) && brings_denials(*plan)) {
      may_deny_.store(true, std::memory_order_relaxed);
    }
  }
  return status;
}

void DenyCache::limits_changed() {
  store_->limits_changed();
  known_.clear();
}

}  // namespace limitree
