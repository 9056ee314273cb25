// Repeats denials of a store without asking it.
//
// This is exact under GCRA: a TAT only grows, so a request that did not fit
// will not fit before its wait is over. refund() and reset() make a TAT
// smaller; they clear it here.  What other processes do is not seen until the
// wait is over.
//
// A request with a limit of another algorithm, or with an overrun, always goes
// to the store.
//
// The cache keeps TATs in its own MemoryStore.  It learns them from every
// answer, not only from denials: a denial tells how much all levels of its path
// have left, and allowed requests charge them afterwards.  So a sole caller
// gets the answers that the store would give.  A bucket that the cache does not
// know counts as full.  TATs count from an instant before the store was asked,
// so they are never too late.

#ifndef LIMITREE_STORE_DECORATORS_DENY_CACHE_HPP
#define LIMITREE_STORE_DECORATORS_DENY_CACHE_HPP

#include <atomic>
#include <cstdint>
#include <memory>

#include "store/clock.hpp"
#include "store/memory/memory_store.hpp"
#include "store/store.hpp"

namespace limitree {

class DenyCache final : public Store {
 public:
  static constexpr std::int64_t kDefaultMaxBuckets = 100'000;

  // Knows at most `max_buckets` buckets.  `clock` must be the clock of `store`,
  // or run at the same speed.
  DenyCache(std::unique_ptr<Store> store, std::int64_t max_buckets, Clock clock)
      : store_(std::move(store)), clock_(clock), known_(max_buckets, clock) {}

  bool is_remote() const override { return store_->is_remote(); }
  bool is_shared() const override { return store_->is_shared(); }
  Status decide(Plan* plan) override;
  bool decide_async(Pending* pending, Status* status) override;
  Status answered(Plan* plan, Status status,
                  const Checkpoint& checkpoint) override;
  std::unique_ptr<StoreLoop> new_loop() override { return store_->new_loop(); }
  Status reset(const Plan& plan) override {
    return reset_answered(plan, store_->reset(plan));
  }
  bool reset_async(Pending* pending, Status* status) override;
  Status reset_answered(const Plan& plan, Status status) override {
    known_.forget(plan);
    return status;
  }
  Status ping() override { return store_->ping(); }
  void limits_changed() override;
  StoreStats stats() override { return store_->stats(); }

 private:
  // Decides *plan, and returns true, if it is known to be denied.  Otherwise
  // the store has to be asked, and *checkpoint is for answered().
  bool denies(Plan* plan, Checkpoint* checkpoint);

  const std::unique_ptr<Store> store_;
  const Clock clock_;
  MemoryStore known_;
  std::atomic<bool> may_deny_{false};  // no bucket was empty before
};

}  // namespace limitree

#endif  // LIMITREE_STORE_DECORATORS_DENY_CACHE_HPP
