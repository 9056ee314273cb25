// Forgets the buckets that a request of Envoy reaches.

#include <memory>
#include <utility>

#include "base/plan.hpp"
#include "descriptors/request.hpp"
#include "limiter/limiter.hpp"
#include "limiter/request_copy.hpp"

namespace limitree {

// Plans the levels to forget, which may be none.
Status Limiter::match_reset(const LoadedRules& rules,
                            const DescriptorRequest& request,
                            MatchedRequest* matched, Plan* plan) const {
  Status status = matched->match(*rules.descriptors, request);
  if (!status.ok()) return status;
  if (!rules.local_limits.empty()) {
    plan->local_limits = rules.local_limits.data();
  }
  plan->pressure = pressure_.load(std::memory_order_relaxed);
  // A bucket that two rules reach is forgotten twice: over_cache_ knows it by
  // each of its limits.
  matched->add_levels(plan);
  return {};
}

Status Limiter::reset(const DescriptorRequest& request) {
  const std::shared_ptr<const Snapshot> snapshot = current();
  DescriptorRequest asked = request;
  asked.purpose = Purpose::kReset;
  MatchedRequest matched;
  Plan plan(Operation::kAuthorize);
  Status status = match_reset(*snapshot->rules, asked, &matched, &plan);
  if (!status.ok() || plan.levels.empty()) return status;
  status = store_->reset(plan);
  forget(plan);
  return status;
}

// Also after a failure: the store may have forgotten them.
void Limiter::forget(const Plan& plan) {
  if (over_cache_ != nullptr) over_cache_->forget(plan);
}

// A reset that does not wait for its store, and everything that its plan
// borrows.
class Limiter::PendingEnvoyReset final : public Pending {
 public:
  PendingEnvoyReset(Limiter* limiter, Listener* listener)
      : Pending(Kind::kReset, Operation::kAuthorize, listener->loop()),
        limiter_(*limiter),
        listener_(*listener),
        snapshot_(limiter->current()) {}

  Status prepare(const DescriptorRequest& request) {
    DescriptorRequest asked = request;
    asked.purpose = Purpose::kReset;
    request_.take(asked);
    return limiter_.match_reset(*snapshot_->rules, request_.get(), &matched_,
                                &plan());
  }

 private:
  void finished(Status status) override {
    const std::unique_ptr<PendingEnvoyReset> self(this);
    limiter_.forget(plan());
    listener_.decided(std::move(status), {}, {});
  }

  Limiter& limiter_;
  Listener& listener_;
  const std::shared_ptr<const Snapshot> snapshot_;
  RequestCopy request_;
  MatchedRequest matched_;
};

bool Limiter::reset_async(const DescriptorRequest& request, Listener* listener,
                          Status* status) {
  if (!may_wait_) {
    *status = reset(request);
    return true;
  }
  auto pending = std::make_unique<PendingEnvoyReset>(this, listener);
  *status = pending->prepare(request);
  const Plan& plan = pending->plan();
  if (!status->ok() || plan.levels.empty()) return true;
  if (store_->start(pending.get(), status)) {
    forget(plan);
    return true;
  }
  pending.release();  // deletes itself when it is finished
  return false;
}

}  // namespace limitree
