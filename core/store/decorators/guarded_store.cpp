#include "store/decorators/guarded_store.hpp"

#include <algorithm>

#include "base/judge.hpp"

namespace limitree {

namespace {

bool is_failure_of_store(Code code) {
  return code == Code::kStoreUnavailable || code == Code::kStoreTimeout ||
         code == Code::kStoreProtocol;
}

const char* reason_of(const Error& error) {
  if (error.reason[0] != '\0') return error.reason;
  switch (error.code) {
    case Code::kStoreTimeout:
      return "timeout";
    case Code::kStoreProtocol:
      return "protocol";
    default:
      return "unavailable";
  }
}

void deny(Duration wait, Plan* plan) {
  decide_assuming(Buckets::kEmpty, plan);
  for (Level& level : plan->levels) {
    Verdict& verdict = level.verdict;
    if (!verdict.limited || verdict.retry_after == kNever) continue;
    verdict.retry_after = wait;
    verdict.next_after = wait;
  }
}

// Replaces the limits of all levels with this process's share of them.
void take_local_limits(Plan* plan) {
  if (plan->local_limits == nullptr) return;
  for (Level& level : plan->levels) {
    const std::uint32_t index = level.limit->index;
    if (index != Limit::kNoIndex) level.limit = &plan->local_limits[index];
  }
}

bool is_limited(const Plan& plan) {
  return std::ranges::any_of(plan.levels, [](const Level& level) {
    return counts(level.mode) && level.verdict.limited;
  });
}

}  // namespace

Status GuardedStore::decide(Plan* plan) {
  if (plan->at_once && log_.is_away()) [[unlikely]]
    return Status(Code::kStoreUnavailable, "the store is away");
  return answered(Pending::Kind::kDecide, plan, store_->decide(plan), {});
}

bool GuardedStore::start(Pending* pending, Status* status) {
  if (pending->kind() == Pending::Kind::kReset) {
    *status = reset_local(pending->plan());
    if (!status->ok()) return true;
  }
  return pass_on(pending, {}, status);
}

Status GuardedStore::failed(Plan* plan, Status status) {
  if (plan->at_once || !is_failure_of_store(status.code())) return status;
  status = replaced(plan, counted(std::move(status)));
  log_.failed(status.ok() && is_limited(*plan));
  return status;
}

// Decides in place of the store.
Status GuardedStore::replaced(Plan* plan, Status status) {
  plan->lease = {};  // only the store can grant it
  switch (on_error_) {
    case OnStoreError::kRaise:
      return status;
    case OnStoreError::kAllow:
      decide_assuming(Buckets::kFull, plan);
      plan->source = Source::kAllow;
      return {};
    case OnStoreError::kDeny:
      deny(kDenyWait, plan);
      plan->source = Source::kDeny;
      return {};
    case OnStoreError::kLocal:
      take_local_limits(plan);
      status = local_->decide(plan);
      plan->source = Source::kLocal;
      return status;
  }
  return status;
}

Status GuardedStore::counted(Status status) {
  if (is_failure_of_store(status.code())) {
    log_.errors().count(reason_of(status.error()));
  }
  return status;
}

// Forgets the debt in memory whatever the store answers: it only counts while
// the store fails.
Status GuardedStore::reset_local(const Plan& plan) {
  return local_ != nullptr ? local_->reset(plan) : Status();
}

Status GuardedStore::reset(const Plan& plan) {
  Status status = reset_local(plan);
  if (!status.ok()) return status;
  return counted(store_->reset(plan));
}

Status GuardedStore::ping() { return counted(store_->ping()); }

StoreStats GuardedStore::stats() {
  StoreStats stats = store_->stats();
  stats.errors = log_.errors().all();
  if (local_ != nullptr) {
    const StoreStats local = local_->stats();
    stats.buckets += local.buckets;
    stats.max_buckets += local.max_buckets;
    stats.bytes += local.bytes;
    stats.evictions += local.evictions;
    stats.forgotten_limited += local.forgotten_limited;
  }
  return stats;
}

}  // namespace limitree
