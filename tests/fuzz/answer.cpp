#include "answer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace {

bool counts(const limitree_level& level) {
  return level.mode != LIMITREE_SHADOW;
}

void check_level(const limitree_level& level, std::int32_t operation) {
  require(level.limit >= 1 && level.window_ns >= 1 && level.cost >= 0);
  require(level.remaining >= 0 && level.remaining <= level.limit);
  require(level.reset_after_ns >= 0 && level.reset_after_ns != LIMITREE_NEVER);
  require(level.next_after_ns >= 0);
  require(level.grows_after_ns >= 0);
  require(level.grows_after_ns <= level.reset_after_ns);
  require((level.grows_after_ns == 0) == (level.reset_after_ns == 0));
  if (level.limited != 0) {
    require(level.retry_after_ns > 0 && level.cost > 0);
    require(level.next_after_ns == level.retry_after_ns);
    require(level.charged == 0 && level.soft == 0);
  } else {
    require(level.retry_after_ns == -1);
  }
  if (level.cost <= level.limit) require(level.next_after_ns != LIMITREE_NEVER);
  if (level.charged != 0) {
    require(operation != LIMITREE_PEEK && level.cost > 0);
    require(level.mode != LIMITREE_CHECK);
  }
  const bool asks =
      operation == LIMITREE_AUTHORIZE || operation == LIMITREE_PEEK;
  require(asks || level.limited == 0);
}

bool binds(const limitree_level& ours, const limitree_level& theirs) {
  if (ours.limited != theirs.limited) return ours.limited != 0;
  if (ours.next_after_ns != theirs.next_after_ns) {
    return ours.next_after_ns > theirs.next_after_ns;
  }
  return ours.remaining <= theirs.remaining;
}

void check_binding(const Answer& answer) {
  const limitree_decision& decision = answer.decision;
  const limitree_level* binding = nullptr;
  std::int64_t retry = -1;
  std::int64_t reset = 0;
  std::int64_t next = 0;
  for (const limitree_level& level : answer.levels) {
    if (!counts(level)) continue;
    if (binding == nullptr || binds(level, *binding)) binding = &level;
    retry = std::max(retry, level.retry_after_ns);
    reset = std::max(reset, level.reset_after_ns);
    next = std::max(next, level.next_after_ns);
  }
  require((decision.limited != 0) == (retry != -1));
  // What a denial has charged, in mode independent, may make it longer.
  require(decision.limited != 0
              ? decision.retry_after_ns >= retry &&
                    decision.retry_after_ns <= std::max(retry, next)
              : decision.retry_after_ns == -1);
  require(decision.reset_after_ns == reset && decision.next_after_ns == next);
  const bool unlimited = (decision.flags & LIMITREE_UNLIMITED) != 0;
  require(unlimited == (binding == nullptr));
  if (binding == nullptr) {
    require(decision.limit == -1 && decision.remaining == -1);
    require(decision.level == -1);
    return;
  }
  require(decision.level == binding - answer.levels.data());
  require(decision.limit == binding->limit);
  require(decision.remaining == binding->remaining);
  require(decision.binding_reset_after_ns == binding->reset_after_ns);
}

std::int64_t ceil_seconds(std::int64_t time) {
  return time / 1'000'000'000 + (time % 1'000'000'000 > 0 ? 1 : 0);
}

void check_cell(const limitree_decision& decision) {
  std::int64_t cell[5];
  limitree_decision_cell(&decision, cell);
  const bool waits =
      decision.limited != 0 && decision.retry_after_ns != LIMITREE_NEVER;
  require(cell[0] == decision.limited && cell[1] == decision.limit);
  require(cell[2] == decision.remaining);
  require(cell[3] == (waits ? ceil_seconds(decision.retry_after_ns) : -1));
  require(cell[4] == ceil_seconds(decision.reset_after_ns));
}

}  // namespace

bool same(const Answer& a, const Answer& b) {
  if (std::memcmp(&a.decision, &b.decision, sizeof a.decision) != 0) {
    return false;
  }
  for (std::size_t i = 0; i < a.levels.size(); ++i) {
    limitree_level ours = a.levels[i];
    ours.charged = b.levels[i].charged;
    if (std::memcmp(&ours, &b.levels[i], sizeof ours) != 0) return false;
  }
  return true;
}

bool same_state(const limitree_level& a, const limitree_level& b) {
  return a.remaining == b.remaining && a.reset_after_ns == b.reset_after_ns &&
         a.grows_after_ns == b.grows_after_ns;
}

void check_answer(const Answer& answer, std::int32_t operation) {
  const limitree_decision& decision = answer.decision;
  for (const limitree_level& level : answer.levels) {
    check_level(level, operation);
  }
  require(decision.source == LIMITREE_SOURCE_STORE);
  require(decision.limited == 0 || decision.limited == 1);
  require(decision.remaining <= decision.limit);
  // A refund also reports levels that do not count.
  if (operation != LIMITREE_REFUND) check_binding(answer);
  check_cell(decision);
}
