// Callers that are blocked for a time.
//
// A block is a limit whose bucket no request charges: Limit::is_block().  So it
// is in every store, and decided in the same step as all other limits.

#include <algorithm>
#include <memory>
#include <utility>

#include "limiter/limiter.hpp"
#include "text/number.hpp"

namespace limitree {

namespace {

Status check_block_time(Duration time) {
  if (time > Duration::zero() && time <= kMaxBurstOffset) return {};
  return Status(
      Code::kInvalidArgument,
      "a block must last from 1ns to 100 years, is " + format_duration(time));
}

}  // namespace

Status Limiter::known_to_store(const Plan& plan) {
  if (plan.source == Source::kStore) return {};
  return Status(Code::kStoreUnavailable,
                "the store fails, and would not know of the block");
}

// Leaves the levels that count denials, of the deepest node that has a block.
Status Limiter::match_block(const Snapshot& snapshot, Path path,
                            Plan* plan) const {
  const PathCost path_cost{path, 0};
  // Only requests that can be denied meet these levels.
  const Operation operation = std::exchange(plan->operation, Operation::kPeek);
  Status status = match(snapshot, {{&path_cost, 1}}, plan);
  plan->operation = operation;
  if (!status.ok()) return status;
  const Level* last = nullptr;
  for (const Level& level : plan->levels) {
    if (level.limit->is_block()) last = &level;
  }
  if (last == nullptr) {
    return Status(Code::kInvalidArgument,
                  "nothing on the path can be blocked: no limit there says "
                  "block: true");
  }
  keep_levels(plan, [depth = last->depth](const Level& level) {
    return level.depth == depth && counts_denials(level.limit->charge);
  });
  return {};
}

// *limit is used by *plan.
Status Limiter::match_block(const Snapshot& snapshot, Path path, Duration time,
                            Limit* limit, Plan* plan) const {
  Status status = check_block_time(time);
  if (status.ok()) status = match_block(snapshot, path, plan);
  if (!status.ok()) return status;
  keep_levels(plan, [](const Level& level) { return level.limit->is_block(); });
  plan->levels.resize(1);
  Level& level = plan->levels[0];
  *limit = block_for(*level.limit, time);
  level.limit = limit;
  level.mode = limit->mode;
  return {};
}

Status Limiter::block(Path path, Duration time) {
  const std::shared_ptr<const Snapshot> snapshot = current();
  Limit limit;
  Plan plan(Operation::kSpend);
  Status status = match_block(*snapshot, path, time, &limit, &plan);
  if (status.ok()) status = store_->decide(&plan);
  return status.ok() ? known_to_store(plan) : std::move(status);
}

}  // namespace limitree
