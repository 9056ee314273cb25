// One request of Envoy, from its rules to its answer.

#ifndef LIMITREE_LIMITER_ENVOY_HPP
#define LIMITREE_LIMITER_ENVOY_HPP

#include "base/plan.hpp"
#include "descriptors/rule_hits.hpp"
#include "limiter/limiter.hpp"

namespace limitree {

// The caller owns both plans, because a pending plan has a place of its own.
class Limiter::EnvoyRequest {
 public:
  // Borrows both.
  EnvoyRequest(Limiter* limiter, const Snapshot& snapshot)
      : limiter_(*limiter),
        rules_(*snapshot.rules),
        hits_(limiter->stop_increment_) {}

  // Fills the plans, whose operations are kAuthorize and kRefund; the store
  // decides each that is not empty.  Makes room in *answer.  `request` must
  // live as long as this.
  Status prepare(const DescriptorRequest& request, Plan* hits, Plan* refunds,
                 EnvoyAnswer* answer);

  // To be called once the plans are decided, or once the store has failed.
  void finish(const Plan& hits, const Plan& refunds, EnvoyAnswer* answer);
  void failed(const Plan& refunds);

  // Both at once, asking the store.
  Status run(const DescriptorRequest& request, EnvoyAnswer* answer,
             Reader* reader);

  // Counts the request, whose outcome is `status`.
  void count(const Status& status, const EnvoyAnswer& answer, Stripe* stripe);

 private:
  void set_up(Plan* plan) const;
  void count_hits(HitCounts* counts);
  HitMetric* metric_of(const RuleHit& hit, HitCounts* counts) noexcept;

  Limiter& limiter_;
  const LoadedRules& rules_;
  const DescriptorRequest* request_ = nullptr;
  bool asked_ = false;  // the request is valid
  MatchedRequest matched_;
  RuleHits hits_;
  OverCache::Known known_;
  Asked asked_cache_;
};

}  // namespace limitree

#endif  // LIMITREE_LIMITER_ENVOY_HPP
