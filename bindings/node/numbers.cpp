#include "numbers.hpp"

#include <array>
#include <limits>

namespace limitree::node {

namespace {

double to_ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

// A wait: -1 and "never" stay what they are.
double wait_ms(std::int64_t ns) {
  if (ns == -1) return -1;
  if (ns == LIMITREE_NEVER) return std::numeric_limits<double>::infinity();
  return to_ms(ns);
}

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
  std::array<std::int64_t, 5> cell;
  limitree_decision_cell(&decision, cell.data());
  to[kLimit] = number(decision.limit);
  to[kRemaining] = number(decision.remaining);
  to[kRetryAfterMs] = wait_ms(decision.retry_after_ns);
  to[kResetAfterMs] = to_ms(decision.reset_after_ns);
  to[kNextAfterMs] = wait_ms(decision.next_after_ns);
  to[kBits] = number((decision.limited != 0 ? 1 : 0) |
                     std::int64_t{decision.flags & 0x7fffu} << 1 |
                     std::int64_t{decision.source} << 16);
  to[kLevel] = number(decision.level);
  to[kLevelCount] = static_cast<double>(level_count);
  to[kRetryAfterS] = number(cell[3]);
  to[kResetAfterS] = number(cell[4]);
}

double* write_levels(const limitree_level* levels, std::size_t count,
                     Policies* policies, double* to) {
  for (std::size_t i = 0; i < count; ++i, to += kLevelSize) {
    const limitree_level& level = levels[i];
    to[kPolicy] = static_cast<double>(policies->number_of(level.policy));
    to[kLevelLimit] = number(level.limit);
    to[kLevelRemaining] = number(level.remaining);
    to[kLevelRetryAfterMs] = wait_ms(level.retry_after_ns);
    to[kLevelResetAfterMs] = to_ms(level.reset_after_ns);
    to[kLevelNextAfterMs] = wait_ms(level.next_after_ns);
    to[kWindowMs] = to_ms(level.window_ns);
    to[kLevelCost] = number(level.cost);
    to[kLevelBits] =
        number(level.limited | level.charged << 1 | level.mode << 2);
    to[kPath] = number(level.path);
  }
  return to;
}

}  // namespace limitree::node
