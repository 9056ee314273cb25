#include "numbers.hpp"

#include <cstdint>

namespace limitree::node {

namespace {

double number(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

std::size_t Policies::number_of(limitree_str policy) {
  const auto [place, is_new] =
      numbers_.try_emplace(policy.data, policies_.size());
  if (is_new) policies_.push_back(policy);
  return place->second;
}

void write_decision(const limitree_decision& decision, std::size_t level_count,
                    double* to) {
  to[kLimit] = number(decision.limit);
  to[kRemaining] = number(decision.remaining);
  to[kRetryAfterNs] = number(decision.retry_after_ns);
  to[kResetAfterNs] = number(decision.reset_after_ns);
  to[kNextAfterNs] = number(decision.next_after_ns);
  to[kBindingResetAfterNs] = number(decision.binding_reset_after_ns);
  to[kBits] = number((decision.limited != 0 ? 1 : 0) |
                     std::int64_t{decision.flags & 0x7fffu} << 1 |
                     std::int64_t{decision.source} << 16);
  to[kLevelCount] = static_cast<double>(level_count);
}

double* write_levels(const limitree_level* levels, std::size_t count,
                     Policies* policies, double* to) {
  for (std::size_t i = 0; i < count; ++i, to += kLevelSize) {
    const limitree_level& level = levels[i];
    to[kPolicy] = static_cast<double>(policies->number_of(level.policy));
    to[kLevelLimit] = number(level.limit);
    to[kLevelRemaining] = number(level.remaining);
    to[kLevelRetryAfterNs] = number(level.retry_after_ns);
    to[kLevelResetAfterNs] = number(level.reset_after_ns);
    to[kLevelNextAfterNs] = number(level.next_after_ns);
    to[kGrowsAfterNs] = number(level.grows_after_ns);
    to[kWindowNs] = number(level.window_ns);
    to[kLevelCost] = number(level.cost);
    to[kLevelBits] = number(level.limited | level.charged << 1 |
                            level.soft << 2 | level.mode << 3);
    to[kPath] = number(level.path);
  }
  return to;
}

}  // namespace limitree::node
