#include "store/memcached/memcached_loop.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "store/memcached/decide_task.hpp"

namespace limitree::memcached {

class MemcachedLoop::Ticket final : public remote::AsyncTask {
 public:
  Ticket(Pending* pending, const Context& context, Duration time)
      : pending_(pending),
        context_(context),
        task_(&pending->plan(),
              pending->kind() == Pending::Kind::kDecide
                  ? Decision::Kind::kDecide
                  : Decision::Kind::kForget,
              context_),
        end_(after(steady_now(), time)) {}

  DecideTask* task() override { return &task_; }
  Duration time_left() const {
    return std::max(Duration(end_ - steady_now()), Duration::zero());
  }
  void complete() {
    pending_->complete(status.ok() ? task_.take_status() : std::move(status));
  }

  std::optional<std::size_t> turn;  // if it has one

 private:
  Pending* const pending_;
  const Context context_;
  DecideTask task_;
  const Monotonic end_;
};

MemcachedLoop::MemcachedLoop(remote::Router* router, const Settings& settings)
    : settings_(settings),
      loop_(router, settings, [this](Tasks tasks) { finished(tasks); }) {}

MemcachedLoop::~MemcachedLoop() = default;

void MemcachedLoop::start(Pending* pending, const Context& context) {
  const Duration time =
      std::min<Duration>(settings_.timeout, time_limit_.load());
  loop_.start(std::make_unique<Ticket>(pending, context, time), time);
}

void MemcachedLoop::finished(Tasks tasks) {
  for (std::unique_ptr<remote::AsyncTask>& task : tasks) {
    finish(std::unique_ptr<Ticket>(static_cast<Ticket*>(task.release())));
  }
}

void MemcachedLoop::finish(std::unique_ptr<Ticket> ticket) {
  const bool is_over = !ticket->status.ok();  // and so is the loop
  if (!is_over && ticket->task()->wants_turn()) {
    const std::size_t hash = ticket->task()->turn();
    const auto [queue, is_first] = turns_.try_emplace(hash);
    if (!is_first) return queue->second.push_back(std::move(ticket));
    ticket->turn = hash;
    return go_on(std::move(ticket));
  }
  if (ticket->turn) pass(*ticket->turn, is_over);
  ticket->complete();
}

// To the next one; or to nobody, because the loop is over.
void MemcachedLoop::pass(std::size_t turn, bool is_over) {
  const auto found = turns_.find(turn);
  Queue& queue = found->second;
  if (is_over) {
    for (const std::unique_ptr<Ticket>& one : std::exchange(queue, {})) {
      one->status = Status(Code::kCancelled, "the store is closed");
      one->complete();
    }
  }
  if (queue.empty()) {
    turns_.erase(found);
    return;
  }
  std::unique_ptr<Ticket> next = std::move(queue.front());
  queue.pop_front();
  next->turn = turn;
  go_on(std::move(next));
}

// If its time has passed by now, it learns that at once.
void MemcachedLoop::go_on(std::unique_ptr<Ticket> ticket) {
  const Duration time = ticket->time_left();
  loop_.start(std::move(ticket), time);
}

}  // namespace limitree::memcached
