// Forgets what has been charged along a path.

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limiter/limiter.hpp"

namespace limitree {

// A pending reset: its plan, and everything that the plan borrows.
class Limiter::ResetRequest final : public Pending {
 public:
  ResetRequest(Limiter* limiter, Path path, Listener* listener)
      : Pending(Kind::kReset, Operation::kRefund, listener->loop()),
        listener_(*listener),
        snapshot_(limiter->current()),
        texts_(path.begin(), path.end()),
        segments_(texts_.begin(), texts_.end()) {}

  const Snapshot& snapshot() const { return *snapshot_; }
  Path path() const { return segments_; }

 private:
  void finished(Status status) override {
    const std::unique_ptr<ResetRequest> self(this);
    listener_.decided(std::move(status), {}, {});
  }

  Listener& listener_;
  const std::shared_ptr<const Snapshot> snapshot_;
  const std::vector<std::string> texts_;
  const std::vector<std::string_view> segments_;  // of texts_
};

// Plans the levels to forget, which may be none.
Status Limiter::match_reset(const Snapshot& snapshot, Path path, bool leaf_only,
                            Plan* plan) const {
  const PathCost path_cost{path, 0};
  Status status = match(snapshot, {&path_cost, 1}, plan);
  if (!status.ok() || plan->levels.empty() || !leaf_only) return status;
  const std::uint32_t leaf = plan->levels.back().depth;
  const auto outer = [leaf](const Level& level) { return level.depth != leaf; };
  Level* const begin = plan->levels.begin();
  Level* const end = std::remove_if(begin, plan->levels.end(), outer);
  while (plan->levels.end() != end) plan->levels.pop_back();
  return {};
}

Status Limiter::reset(Path path, bool leaf_only) {
  const std::shared_ptr<const Snapshot> snapshot = current();
  Plan plan(Operation::kRefund);
  Status status = match_reset(*snapshot, path, leaf_only, &plan);
  if (!status.ok() || plan.levels.empty()) return status;
  return store_->reset(plan);
}

bool Limiter::reset_async(Path path, bool leaf_only, Listener* listener,
                          Status* status) {
  if (!may_wait_) {
    *status = reset(path, leaf_only);
    return true;
  }
  auto request = std::make_unique<ResetRequest>(this, path, listener);
  Plan& plan = request->plan();
  *status = match_reset(request->snapshot(), request->path(), leaf_only, &plan);
  if (!status->ok() || plan.levels.empty() ||
      store_->reset_async(request.get(), status)) {
    return true;
  }
  request.release();  // deletes itself when it is finished
  return false;
}

}  // namespace limitree
