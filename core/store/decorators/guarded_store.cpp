#include "store/decorators/guarded_store.hpp"

#include <cstdint>
#include <cstring>

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

// Replaces the limits of all levels by this process's share of them.
void take_local_limits(Plan* plan) {
  if (plan->local_limits == nullptr) return;
  for (Level& level : plan->levels) {
    const std::uint32_t index = level.limit->index;
    if (index != Limit::kNoIndex) level.limit = &plan->local_limits[index];
  }
}

}  // namespace

void ErrorCounts::count(const char* reason) {
  for (Slot& slot : slots_) {
    const char* known = slot.reason.load();
    if (known == nullptr) {
      slot.reason.compare_exchange_strong(known, reason);
      known = slot.reason.load();
    }
    if (std::strcmp(known, reason) == 0 || &slot == &slots_.back()) {
      slot.count.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
}

std::vector<ReasonCount> ErrorCounts::all() const {
  std::vector<ReasonCount> counts;
  for (const Slot& slot : slots_) {
    const char* const reason = slot.reason.load();
    if (reason == nullptr) break;
    counts.push_back({reason, slot.count.load(std::memory_order_relaxed)});
  }
  return counts;
}

bool GuardedStore::decide_async(Pending* pending, Status* status) {
  pending->push(this, {});
  if (!store_->decide_async(pending, status)) return false;
  pending->pop();
  *status = answered(&pending->plan(), std::move(*status), {});
  return true;
}

Status GuardedStore::failed(Plan* plan, Status status) {
  if (!is_failure_of_store(status.code())) return status;
  count(status);
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

void GuardedStore::count(const Status& status) {
  if (is_failure_of_store(status.code())) {
    errors_.count(reason_of(status.error()));
  }
}

// Forgets the debt in memory whatever the store answers: it only counts while
// the store fails.
Status GuardedStore::reset_local(const Plan& plan) {
  return local_ != nullptr ? local_->reset(plan) : Status();
}

Status GuardedStore::reset(const Plan& plan) {
  Status status = reset_local(plan);
  if (!status.ok()) return status;
  return reset_answered(plan, store_->reset(plan));
}

bool GuardedStore::reset_async(Pending* pending, Status* status) {
  *status = reset_local(pending->plan());
  if (!status->ok()) return true;
  pending->push(this, {});
  if (!store_->reset_async(pending, status)) return false;
  pending->pop();
  *status = reset_answered(pending->plan(), std::move(*status));
  return true;
}

Status GuardedStore::ping() {
  Status status = store_->ping();
  count(status);
  return status;
}

StoreStats GuardedStore::stats() {
  StoreStats stats = store_->stats();
  stats.errors = errors_.all();
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
