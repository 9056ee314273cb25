// Requests of Envoy, from their rules to their answers.

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/inline_vector.hpp"
#include "base/plan.hpp"
#include "base/recycled.hpp"
#include "descriptors/answer.hpp"
#include "descriptors/rule_hits.hpp"
#include "limiter/limiter.hpp"
#include "limiter/request_copy.hpp"

namespace limitree {
namespace {

// A lease does not hide what has replaced the store.
bool tells_less(Source a, Source b) {
  const auto rank = [](Source source) {
    return source == Source::kLease ? 1 : 2 * static_cast<int>(source);
  };
  return rank(a) < rank(b);
}

}  // namespace

// One request.  The caller owns its plans, because a pending plan has a place
// of its own.
class Limiter::EnvoyRequest {
 public:
  // Borrows both.
  EnvoyRequest(Limiter* limiter, const Snapshot& snapshot)
      : limiter_(*limiter),
        rules_(*snapshot.rules),
        hits_(limiter->stop_increment_) {}

  // The plans of one request, each with its operation.
  template <typename PlanType>
  struct PlansOf {
    PlanType* hits;         // kAuthorize; prepare() may make it another
    PlanType* refunds;      // kRefund
    PlanType* settlements;  // kSettle
  };

  // Fills the plans; the store decides each that is not empty.  Makes room in
  // *answer.  `request` must live as long as this.
  Status prepare(const DescriptorRequest& request, const PlansOf<Plan>& plans,
                 EnvoyAnswer* answer);

  // To be called once the plans are decided, or once the store has failed.
  void finish(const PlansOf<const Plan>& plans, EnvoyAnswer* answer);
  void failed(const Plan& refunds);

  // prepare() and finish(), and asks the store in between.
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
  bool is_valid_ = false;  // the request is valid
  MatchedRequest matched_;
  RuleHits hits_;
  OverCache::CachedLevels known_;
  Checkpoint checkpoint_;
};

void Limiter::EnvoyRequest::set_up(Plan* plan) const {
  if (!rules_.local_limits.empty()) {
    plan->local_limits = rules_.local_limits.data();
  }
  plan->pressure = limiter_.pressure_.load(std::memory_order_relaxed);
}

Status Limiter::EnvoyRequest::prepare(const DescriptorRequest& request,
                                      const PlansOf<Plan>& plans,
                                      EnvoyAnswer* answer) {
  request_ = &request;
  Status status = matched_.match(*rules_.descriptors, request);
  if (!status.ok()) return status;
  Plan* const hits = plans.hits;
  if (request.purpose != Purpose::kCount) hits->operation = Operation::kPeek;
  hits->only_looks = request.purpose == Purpose::kLook;
  for (Plan* const plan : {hits, plans.refunds, plans.settlements}) {
    set_up(plan);
    status = hits_.add(matched_, plan);
    if (!status.ok()) return status;
  }
  if (!matched_.hold_name().empty()) {
    hits->reservation.id = HoldIds::of(matched_.hold_name());
    plans.settlements->reservation = hits->reservation;
  }
  if (limiter_.over_cache_ != nullptr) {
    checkpoint_ = limiter_.over_cache_->take_cached(hits, &known_);
    const bool denied = std::ranges::any_of(
        known_, [](const Level& level) { return counts(level.mode); });
    if (denied) hits_.stop_all(hits);
  }
  // Nothing may fail after the store has charged.
  answer->statuses.resize(request.descriptors.size());
  is_valid_ = true;
  return {};
}

void Limiter::EnvoyRequest::finish(const PlansOf<const Plan>& plans,
                                   EnvoyAnswer* answer) {
  const Plan& hits = *plans.hits;
  const Plan& refunds = *plans.refunds;
  const Plan& settlements = *plans.settlements;
  if (limiter_.over_cache_ != nullptr) {
    limiter_.over_cache_->learn(hits, checkpoint_);
    if (!refunds.levels.empty()) limiter_.over_cache_->forget(refunds);
  }
  hits_.judge(hits, {known_.data(), known_.size()});
  hits_.judge(refunds, {});
  hits_.judge(settlements, {});
  if (hits_.has_denying()) hits_.judge_denying(limiter_.clock_.now());
  limitree::answer(matched_, hits_, limiter_.answer_modes_, answer);
  for (DescriptorStatus& status : answer->statuses) {
    if (status.name.empty()) continue;
    status.name = rules_.names[hits_.all()[status.hit].rule->limit.index];
  }
  answer->source =
      std::max({hits.source, refunds.source, settlements.source}, tells_less);
  answer->holds = hits.operation == Operation::kReserve &&
                  std::ranges::any_of(hits.levels, [](const Level& level) {
                    return level.limit->holds() && level.verdict.charged;
                  });
  if (!answer->wants_metadata) return;
  try {
    answer->metadata = dynamic_metadata(*request_, hits_, *answer);
  } catch (const std::bad_alloc&) {
    // The answer matters more than its metadata.
    answer->metadata.clear();
  }
}

// The refund may have happened.
void Limiter::EnvoyRequest::failed(const Plan& refunds) {
  if (limiter_.over_cache_ != nullptr && !refunds.levels.empty()) {
    limiter_.over_cache_->forget(refunds);
  }
}

Status Limiter::EnvoyRequest::run(const DescriptorRequest& request,
                                  EnvoyAnswer* answer, Reader* reader) {
  Plan hits(Operation::kAuthorize);
  Plan refunds(Operation::kRefund);
  Plan settlements(Operation::kSettle);
  Status status = prepare(request, {&hits, &refunds, &settlements}, answer);
  for (Plan* const plan : {&hits, &refunds, &settlements}) {
    if (status.ok() && !plan->levels.empty()) {
      status = limiter_.decide(plan, reader);
    }
  }
  if (status.ok()) {
    finish({&hits, &refunds, &settlements}, answer);
  } else if (is_valid_) {
    failed(refunds);
  }
  return status;
}

void Limiter::EnvoyRequest::count(const Status& status,
                                  const EnvoyAnswer& answer, Stripe* stripe) {
  EnvoyTotals& totals = stripe->hits().totals;
  if (!status.ok()) {
    ++(is_valid_ ? totals.store_errors : totals.service_errors);
    stripe->count_error();
    return;
  }
  if (request_->purpose != Purpose::kCount) return;
  Decision decision;
  decision.limited = answer.overall == LimitCode::kOverLimit;
  decision.shadowed = answer.shadowed;
  decision.source = answer.source;
  stripe->count(decision);
  ++(decision.limited ? totals.over_limit : totals.ok);
  totals.global_shadow_mode += answer.shadowed ? 1 : 0;
  count_hits(&stripe->hits());
}

void Limiter::EnvoyRequest::count_hits(HitCounts* counts) {
  for (const RuleHit& hit : hits_.all()) {
    counts->add(metric_of(hit, counts),
                tally_of(hit, hit.outcome, limiter_.near_limit_));
  }
  if (matched_.domain() == nullptr) {
    HitTally tally;
    tally.domain_not_found =
        static_cast<std::int64_t>(matched_.descriptors().size());
    counts->add(counts->find(request_->domain, &limiter_.metrics_), tally);
  }
}

HitMetric* Limiter::EnvoyRequest::metric_of(const RuleHit& hit,
                                            HitCounts* counts) noexcept {
  const std::uint32_t index = hit.rule->limit.index;
  if (index != Limit::kNoIndex && rules_.metrics[index] != nullptr) {
    return rules_.metrics[index];
  }
  try {
    std::string room;
    return counts->find(matched_.metric_key(hit.descriptor, hit.index, &room),
                        &limiter_.metrics_);
  } catch (const std::bad_alloc&) {
    return counts->find(HitMetrics::kOther, &limiter_.metrics_);
  }
}

Status Limiter::should_rate_limit(const DescriptorRequest& request,
                                  EnvoyAnswer* answer) {
  Reader reader(this);
  EnvoyRequest one(this, reader.snapshot());
  Status status = one.run(request, answer, &reader);
  one.count(status, *answer, &reader.stripe());
  return status;
}

// A request that does not wait for its store, everything that it borrows, and
// its plans.  They are asked for at the same time, and may be answered by
// another thread at once.
class Limiter::PendingEnvoyRequest final
    : public Recycled<PendingEnvoyRequest, 256> {
 public:
  PendingEnvoyRequest(Limiter* limiter, Listener* listener)
      : limiter_(*limiter),
        listener_(*listener),
        snapshot_(limiter->current()),
        one_(limiter, *snapshot_),
        hits_(Operation::kAuthorize, this),
        refunds_(Operation::kRefund, this),
        settlements_(Operation::kSettle, this) {}

  Status prepare(const DescriptorRequest& request, bool wants_metadata) {
    request_.take(request);
    answer_.wants_metadata = wants_metadata;
    return one_.prepare(request_.get(),
                        {&hits_.plan(), &refunds_.plan(), &settlements_.plan()},
                        &answer_);
  }

  // Asks the store.  Returns whether all plans are decided.
  //
  // Once the hits are under way, nothing may be thrown: they refer to this.
  bool ask() {
    Status no_memory;
    if (!refunds_.plan().levels.empty() ||
        !settlements_.plan().levels.empty()) {
      no_memory = Status(Code::kOutOfMemory, "no memory to give hits back");
    }
    ask(&hits_);
    for (Part* const part : {&refunds_, &settlements_}) {
      try {
        ask(part);
      } catch (const std::bad_alloc&) {
        part->status = std::move(no_memory);
        close();
      }
    }
    return close();
  }

  // Once all are decided.
  Status finish(EnvoyAnswer* answer) {
    Status status;
    for (Part* const part : {&hits_, &refunds_, &settlements_}) {
      if (status.ok()) status = std::move(part->status);
    }
    if (status.ok()) {
      one_.finish({&hits_.plan(), &refunds_.plan(), &settlements_.plan()},
                  answer);
    } else {
      one_.failed(refunds_.plan());
    }
    count(status, *answer);
    return status;
  }

  void count(const Status& status, const EnvoyAnswer& answer) {
    Reader reader(&limiter_);
    one_.count(status, answer, &reader.stripe());
  }

 private:
  class Part final : public Pending {
   public:
    Part(Operation operation, PendingEnvoyRequest* owner)
        : Pending(Kind::kDecide, operation, owner->listener_.loop()),
          owner_(*owner) {}

    Status status;

   private:
    void finished(Status outcome) override {
      status = std::move(outcome);
      if (owner_.close()) owner_.deliver();
    }

    PendingEnvoyRequest& owner_;
  };

  void ask(Part* part) {
    if (part->plan().levels.empty()) return;
    open_.fetch_add(1, std::memory_order_relaxed);
    if (limiter_.store_->start(part, &part->status)) close();
  }

  // Returns whether all plans are answered.
  bool close() { return open_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  void deliver() {
    const std::unique_ptr<PendingEnvoyRequest> self(this);
    Status status = finish(&answer_);
    listener_.answered(std::move(status), &answer_);
  }

  Limiter& limiter_;
  Listener& listener_;
  const std::shared_ptr<const Snapshot> snapshot_;
  RequestCopy request_;
  EnvoyAnswer answer_;
  EnvoyRequest one_;
  Part hits_;
  Part refunds_;
  Part settlements_;
  // Plans without an answer, and one while the store is being asked.
  std::atomic<int> open_{1};
};

bool Limiter::should_rate_limit_async(const DescriptorRequest& request,
                                      EnvoyAnswer* answer, Listener* listener,
                                      Status* status) {
  if (!may_wait_) {
    *status = should_rate_limit(request, answer);
    return true;
  }
  auto pending = std::make_unique<PendingEnvoyRequest>(this, listener);
  *status = pending->prepare(request, answer->wants_metadata);
  if (!status->ok()) {
    pending->count(*status, *answer);
    return true;
  }
  // Nothing may fail after the store has charged.
  answer->statuses.resize(request.descriptors.size());
  if (!pending->ask()) {
    pending.release();  // deletes itself when it is answered
    return false;
  }
  *status = pending->finish(answer);
  return true;
}

}  // namespace limitree
