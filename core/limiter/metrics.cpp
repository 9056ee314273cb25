#include "limiter/metrics.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace limitree {

Policy* Policies::intern(const std::string& name) {
  const auto known = by_name_.find(name);
  if (known != by_name_.end()) return known->second;
  Policy* const policy = &policies_.emplace_back(name);
  by_name_.emplace(policy->name(), policy);
  return policy;
}

std::size_t Policies::cost_of(const std::string& name) const {
  constexpr std::size_t kEntry = 64;  // of by_name_
  if (by_name_.contains(name)) return 0;
  return kEntry + sizeof(Policy) + name.size();
}

namespace {

std::uint32_t stripe_count() {
  return std::bit_ceil(
      std::clamp(2 * std::thread::hardware_concurrency(), 4u, 64u));
}

}  // namespace

void Stripe::count_holds(const Plan& plan, const Decision& decision) {
  if (plan.operation == Operation::kReserve) totals_.held += decision.held;
  if (plan.operation == Operation::kSettle) totals_.settled += decision.held;
  bool full = false;
  for (const Level& level : plan.levels) {
    if (!level.limit->holds()) continue;
    totals_.ended += level.ended;
    full |= level.crowded && counts(level.mode);
  }
  if (full && is_asked(plan.operation)) ++totals_.holds_full;
}

Stripes::Stripes(Share near_limit)
    : count_(stripe_count()), stripes_(new Stripe[count_]) {
  for (Stripe& stripe : *this) stripe.set_near_limit(near_limit);
}

Stripe& Stripes::acquire_another(std::uint32_t usual) {
  for (;;) {
    for (std::uint32_t i = 1; i <= count_; ++i) {
      Stripe& stripe = stripes_[(usual + i) & (count_ - 1)];
      if (stripe.try_lock()) return stripe;
    }
    // More threads than stripes, and all of them are busy.
    sched_yield();
  }
}

}  // namespace limitree
