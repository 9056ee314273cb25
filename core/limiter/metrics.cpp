#include "limiter/metrics.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <thread>

namespace limitree {

Tally& Tally::operator+=(const Tally& other) {
  allowed += other.allowed;
  limited += other.limited;
  shadow_limited += other.shadow_limited;
  near_limit += other.near_limit;
  soft += other.soft;
  return *this;
}

Totals& Totals::operator+=(const Totals& other) {
  for (std::size_t i = 0; i < kSourceCount; ++i) {
    decided[i][0] += other.decided[i][0];
    decided[i][1] += other.decided[i][1];
  }
  shadow_limited += other.shadow_limited;
  soft += other.soft;
  errors += other.errors;
  return *this;
}

void Policy::add(const Tally& tally) {
  allowed_.fetch_add(tally.allowed, std::memory_order_relaxed);
  limited_.fetch_add(tally.limited, std::memory_order_relaxed);
  shadow_limited_.fetch_add(tally.shadow_limited, std::memory_order_relaxed);
  near_limit_.fetch_add(tally.near_limit, std::memory_order_relaxed);
  if (tally.soft != 0) soft_.fetch_add(tally.soft, std::memory_order_relaxed);
}

Tally Policy::tally() const {
  return {.allowed = allowed_.load(std::memory_order_relaxed),
          .limited = limited_.load(std::memory_order_relaxed),
          .shadow_limited = shadow_limited_.load(std::memory_order_relaxed),
          .near_limit = near_limit_.load(std::memory_order_relaxed),
          .soft = soft_.load(std::memory_order_relaxed)};
}

Policy* Policies::intern(const std::string& name) {
  const auto known = by_name_.find(name);
  if (known != by_name_.end()) return known->second;
  Policy* const policy = &policies_.emplace_back(name);
  by_name_.emplace(policy->name(), policy);
  return policy;
}

void Stripe::flush() {
  for (Entry& entry : cache_) {
    if (entry.policy != nullptr) entry.policy->add(entry.tally);
    entry = {};
  }
  hits_.flush();
}

namespace {

std::uint32_t stripe_count() {
  return std::bit_ceil(
      std::clamp(2 * std::thread::hardware_concurrency(), 4u, 64u));
}

}  // namespace

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
