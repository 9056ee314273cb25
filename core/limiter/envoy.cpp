#include "limiter/envoy.hpp"

#include <algorithm>
#include <new>
#include <string>

#include "descriptors/answer.hpp"
#include "limiter/limiter.hpp"

namespace limitree {

void Limiter::EnvoyRequest::set_up(Plan* plan) const {
  if (!rules_.local_limits.empty()) {
    plan->local_limits = rules_.local_limits.data();
  }
  plan->pressure = limiter_.pressure_.load(std::memory_order_relaxed);
}

Status Limiter::EnvoyRequest::prepare(const DescriptorRequest& request,
                                      Plan* hits, Plan* refunds,
                                      EnvoyAnswer* answer) {
  request_ = &request;
  Status status = matched_.match(*rules_.descriptors, request);
  if (!status.ok()) return status;
  for (Plan* const plan : {hits, refunds}) {
    set_up(plan);
    status = hits_.add(matched_, plan);
    if (!status.ok()) return status;
  }
  if (limiter_.over_cache_ != nullptr) {
    asked_cache_ = limiter_.over_cache_->take_known(hits, &known_);
    const bool denied = std::ranges::any_of(
        known_, [](const Level& level) { return counts(level.mode); });
    if (denied) hits_.stop_all(hits);
  }
  // Nothing may fail after the store has charged.
  answer->statuses.resize(request.descriptors.size());
  asked_ = true;
  return {};
}

void Limiter::EnvoyRequest::finish(const Plan& hits, const Plan& refunds,
                                   EnvoyAnswer* answer) {
  if (limiter_.over_cache_ != nullptr) {
    limiter_.over_cache_->learn(hits, asked_cache_);
    if (!refunds.levels.empty()) limiter_.over_cache_->forget(refunds);
  }
  hits_.judge(hits, {known_.data(), known_.size()});
  hits_.judge(refunds, {});
  if (hits_.has_denying()) hits_.judge_denying(limiter_.clock_.now());
  limitree::answer(matched_, hits_, limiter_.answer_modes_, answer);
  for (DescriptorStatus& status : answer->statuses) {
    if (status.name.empty()) continue;
    status.name = rules_.names[hits_.all()[status.hit].rule->limit.index];
  }
  answer->source = std::max(hits.source, refunds.source);
  if (!answer->wants_metadata) return;
  try {
    answer->metadata = dynamic_metadata(*request_, hits_, *answer);
  } catch (const std::bad_alloc&) {
    // The answer is worth more.
    answer->metadata.clear();
  }
}

// What was to be given back may have been.
void Limiter::EnvoyRequest::failed(const Plan& refunds) {
  if (limiter_.over_cache_ != nullptr && !refunds.levels.empty()) {
    limiter_.over_cache_->forget(refunds);
  }
}

Status Limiter::EnvoyRequest::run(const DescriptorRequest& request,
                                  EnvoyAnswer* answer, Reader* reader) {
  Plan hits(Operation::kAuthorize);
  Plan refunds(Operation::kRefund);
  Status status = prepare(request, &hits, &refunds, answer);
  if (status.ok() && !hits.levels.empty()) {
    status = limiter_.decide(&hits, reader);
  }
  if (status.ok() && !refunds.levels.empty()) {
    status = limiter_.decide(&refunds, reader);
  }
  if (status.ok()) {
    finish(hits, refunds, answer);
  } else if (asked_) {
    failed(refunds);
  }
  return status;
}

void Limiter::EnvoyRequest::count(const Status& status,
                                  const EnvoyAnswer& answer, Stripe* stripe) {
  EnvoyTotals& totals = stripe->hits().totals;
  if (!status.ok()) {
    ++(asked_ ? totals.store_errors : totals.service_errors);
    stripe->count_error();
    return;
  }
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

}  // namespace limitree
