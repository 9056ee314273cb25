// Requests that do not wait for their store.

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "base/inline_vector.hpp"
#include "base/recycled.hpp"
#include "limiter/limiter.hpp"

namespace limitree {

// A pending request: its plan, and everything that the plan borrows.
class Limiter::Request final : public Pending, public Recycled<Request, 512> {
 public:
  Request(Limiter* limiter, Kind kind, Operation operation, bool wants_reports,
          Listener* listener)
      : Pending(kind, operation, listener->loop()),
        limiter_(*limiter),
        listener_(*listener),
        snapshot_(limiter->current()),
        wants_reports_(wants_reports) {
    plan().wants_growth = wants_reports;
  }

  // For one path, of which nobody wants reports.
  static std::unique_ptr<Request> at(Limiter* limiter, Kind kind,
                                     Operation operation, Path path,
                                     Listener* listener) {
    auto request =
        std::make_unique<Request>(limiter, kind, operation, false, listener);
    const PathCost path_cost{path, 0};
    request->copy({&path_cost, 1});
    return request;
  }

  // Copies the texts of the caller's paths.
  void copy(std::span<const PathCost> path_costs) {
    std::size_t bytes = 0;
    std::size_t count = 0;
    for (const PathCost& path_cost : path_costs) {
      count += path_cost.path.size();
      for (const std::string_view segment : path_cost.path)
        bytes += segment.size();
    }
    text_.resize(bytes);
    segments_.resize(count);
    char* text = text_.data();
    std::string_view* segment = segments_.data();
    for (const PathCost& path_cost : path_costs) {
      path_costs_.push_back({Path(segment, path_cost.path.size()),
                             path_cost.cost, path_cost.part});
      for (const std::string_view from : path_cost.path) {
        *segment++ = {text, from.size()};
        text = std::copy(from.begin(), from.end(), text);
      }
    }
  }

  // `costs` has the paths that were copied.
  Status walk(Costs costs) {
    costs.paths = {path_costs_.data(), path_costs_.size()};
    Status status = limiter_.match(*snapshot_, costs, &plan());
    if (wants_reports_) reports_.resize(plan().levels.size());
    return status;
  }

  // Plans a block, whose limit belongs to this.
  Status walk_block(Duration time) {
    block_ = std::make_unique<Limit>();
    return limiter_.match_block(*snapshot_, path(), time, block_.get(),
                                &plan());
  }

  // Asks the store, unless there is nothing to ask.  False: it is pending, and
  // deletes itself when it is finished.
  static bool ask(std::unique_ptr<Request>* request, Status* status) {
    Request& one = **request;
    if (!status->ok() || one.plan().levels.empty() ||
        one.limiter_.store_->start(&one, status)) {
      return true;
    }
    request->release();
    return false;
  }

  // Takes what the store has decided.
  void conclude(Decision* decision, LevelReports* reports) {
    aggregate(plan(), decision);
    limiter_.retry_spread_.apply(decision);
    count_held(plan(), decision);
    limiter_.record(*snapshot_, plan(), *decision);
    if (reports != nullptr) report(*snapshot_, plan(), reports);
  }

  const Snapshot& snapshot() const { return *snapshot_; }
  Path path() const { return path_costs_[0].path; }  // of a reset

 private:
  void finished(Status status) override {
    const std::unique_ptr<Request> self(this);
    Decision decision;
    if (kind() == Kind::kReset) {
      // Only the status is reported.
    } else if (block_ != nullptr) {
      if (status.ok()) status = known_to_store(plan());
    } else if (status.ok()) {
      conclude(&decision, &reports_);
    } else {
      limiter_.count_error();
      reports_.clear();
    }
    listener_.decided(std::move(status), decision, reports_);
  }

  Limiter& limiter_;
  Listener& listener_;
  const std::shared_ptr<const Snapshot> snapshot_;
  const bool wants_reports_;
  std::unique_ptr<Limit> block_;  // of a block
  InlineVector<char, 128> text_;
  InlineVector<std::string_view, 8> segments_;
  InlineVector<PathCost, 2> path_costs_;
  LevelReports reports_;
};

bool Limiter::decide_async(Operation operation, const Costs& costs,
                           Answer* answer, Listener* listener, Status* status) {
  if (!may_wait_) {
    *status = decide(operation, costs, answer->reports, &answer->decision);
    return true;
  }
  auto request =
      std::make_unique<Request>(this, Pending::Kind::kDecide, operation,
                                answer->reports != nullptr, listener);
  request->copy(costs.paths);
  *status = request->walk(costs);
  // Nothing may fail after the store has charged.
  if (answer->reports != nullptr) {
    answer->reports->resize(request->plan().levels.size());
  }
  if (!Request::ask(&request, status)) return false;
  if (!status->ok()) {
    count_error();
    return true;
  }
  request->conclude(&answer->decision, answer->reports);
  return true;
}

bool Limiter::reset_async(Path path, Forget which, Listener* listener,
                          Status* status) {
  if (!may_wait_) {
    *status = reset(path, which);
    return true;
  }
  auto request = Request::at(this, Pending::Kind::kReset, Operation::kRefund,
                             path, listener);
  *status = match_reset(request->snapshot(), request->path(), which,
                        &request->plan());
  return Request::ask(&request, status);
}

bool Limiter::block_async(Path path, Duration time, Listener* listener,
                          Status* status) {
  if (!may_wait_) {
    *status = block(path, time);
    return true;
  }
  auto request = Request::at(this, Pending::Kind::kDecide, Operation::kSpend,
                             path, listener);
  *status = request->walk_block(time);
  if (!Request::ask(&request, status)) return false;
  if (status->ok()) *status = known_to_store(request->plan());
  return true;
}

}  // namespace limitree
