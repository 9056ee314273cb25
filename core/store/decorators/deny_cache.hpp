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

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "store/clock.hpp"
#include "store/decorators/store_decorator.hpp"
#include "store/memory/memory_store.hpp"
#include "store/store.hpp"

namespace limitree {

class DenyCache final : public StoreDecorator {
 public:
  static constexpr std::int64_t kDefaultMaxBuckets = 100'000;

  // Knows at most `max_buckets` buckets.  `clock` must be the clock of `store`,
  // or run at the same speed.
  DenyCache(std::unique_ptr<Store> store, std::int64_t max_buckets, Clock clock)
      : StoreDecorator(std::move(store)),
        clock_(clock),
        known_(max_buckets, clock) {}

  Status decide(Plan* plan) override;
  Status reset(const Plan& plan) override;
  bool start(Pending* pending, Status* status) override;
  Status answered(Pending::Kind kind, Plan* plan, Status status,
                  const Checkpoint& checkpoint) override;
  void limits_changed() override;

 private:
  // Decides *plan, and returns true, if it is known to be denied.  Otherwise
  // the store has to be asked, and *checkpoint is for answered().
  bool denies(Plan* plan, Checkpoint* checkpoint);

  const Clock clock_;
  MemoryStore known_;
  std::atomic<bool> may_deny_{false};  // no bucket was empty before
};

}  // namespace limitree
