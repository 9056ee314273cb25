// Spends units that this process has leased: base/lease.hpp.
//
// A request of a path that this process sees often goes to the store with an
// ask for more units of all levels.  What is granted answers later requests of
// the path here, until it is used up or ends.  The request that finds few units
// left asks for the next ones; meanwhile others spend those that are left.
//
// A unit that the store has charged is used once or never: after fork(), a
// reload, a reset or a refund what is held is forgotten, and what is on its way
// is not taken.  Ends count from before the store was asked, by a clock that
// also counts while the machine is suspended.  So nothing depends on another
// machine's clock, and a process that stands still loses units, and uses none
// too late.
//
// Where a limit says `ahead` and many processes want the little that is free,
// each would have to ask the store for each unit.  Then a process that got none
// or few denies by itself for the time of a lease.  What becomes free
// meanwhile is nobody's, and the next that asks gets more of it at once.
//
// Which paths: can_lease() of plan.hpp, and not those that are seen less than
// twice in the time of a lease.

#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "store/clock.hpp"
#include "store/decorators/lease_slot.hpp"
#include "store/decorators/store_decorator.hpp"
#include "store/fork_guard.hpp"
#include "store/memory/private_lines.hpp"
#include "store/siphash.hpp"
#include "store/spin_lock.hpp"
#include "store/store.hpp"

namespace limitree {

using LeaseTable = SlotTable<LeaseSlot, PrivateLines<LeaseSlot>>;

class LeaseCache final : public StoreDecorator, private ForkGuard {
 public:
  // The most paths that it knows, of 192 bytes each.
  static constexpr std::int64_t kMaxPaths = 65'536;

  // `clock` must be the clock of `store`, or run at the same speed.
  LeaseCache(std::unique_ptr<Store> store, Clock clock);
  ~LeaseCache() override;

  Status decide(Plan* plan) override;
  Status reset(const Plan& plan) override;
  bool start(Pending* pending, Status* status) override;
  Status answered(Pending::Kind kind, Plan* plan, Status status,
                  const Checkpoint& checkpoint) override;
  void limits_changed() override;
  StoreStats stats() override;

 private:
  static constexpr std::uint32_t kShards = 64;

  struct alignas(64) Shard {
    SpinLock lock;
    LeaseTable table{1};
    std::uint32_t epochs = 0;
    std::int64_t leased = 0;  // units
    std::int64_t used = 0;
  };

  // A path whose units can be leased, and a request of it.
  struct Request {
    std::uint64_t tag;
    std::uint64_t shape;
    std::int64_t units;
    Duration lease;  // of the level with the shortest one
    Duration unit;   // of debt in the last bucket; 0: it has windows
    bool ahead;      // all limits say so
  };

  enum class Next : std::uint8_t {
    kSpent,   // *plan is decided
    kPassOn,  // nothing here is concerned
    kWatch,   // the answer is of interest
  };

  void before_fork() override;
  void after_fork() override;
  void after_fork_in_child() override;

  Next prepare(Plan* plan, Checkpoint* checkpoint);
  bool read(const Plan& plan, Request* request) const;
  Next spend(const Request& request, Plan* plan, Checkpoint* checkpoint);
  static void deny_ahead(const Request& request, const Plan& plan, Instant now,
                         LeaseSlot* slot);
  static void learn(const Request& request, const Plan& plan, Instant asked,
                    Instant now, LeaseSlot* slot);
  bool take(bool failed, const Checkpoint& checkpoint, Plan* plan);
  void forget(const Plan& plan);
  void clear();
  Shard& shard_of(std::uint64_t tag) { return shards_[tag % kShards]; }

  const Clock clock_;
  const SipHash seed_;
  std::array<Shard, kShards> shards_;
};

}  // namespace limitree
