// A store keeps buckets and decides plans against them.
//
// Deciding is one indivisible step: as seen by any other caller, either every
// level of the plan has been charged or none has.  That rule and judge() are
// all that stores have in common, and the cases in
// tests/core/store/store_cases.hpp run against each of them.
//
// A store may be used from several threads at once.

#ifndef LIMITREE_STORE_STORE_HPP
#define LIMITREE_STORE_STORE_HPP

#include <cstdint>

#include "base/plan.hpp"
#include "base/status.hpp"

namespace limitree {

// What a store holds.  Zero where a store cannot tell.
struct StoreStats {
  std::int64_t buckets = 0;      // with a debt
  std::int64_t max_buckets = 0;  // as configured
  std::int64_t bytes = 0;        // taken by buckets
  std::int64_t evictions = 0;    // buckets forgotten to make room
};

class Store {
 public:
  virtual ~Store() = default;

  // Carries out plan->operation on all levels in one step: sets their debts
  // and verdicts, and writes the buckets of those that judge() charges.
  //
  // On failure no verdict is set.
  // REQUIRES: plan->levels is not empty, and no bucket is in it twice.
  virtual Status decide(Plan* plan) = 0;

  // Forgets the buckets of every level: they are full again.
  virtual Status reset(const Plan& plan) = 0;

  virtual StoreStats stats() = 0;
};

}  // namespace limitree

#endif  // LIMITREE_STORE_STORE_HPP
