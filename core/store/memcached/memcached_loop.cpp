#include "store/memcached/memcached_loop.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <string_view>
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
  void complete(Status outcome) { pending_->complete(std::move(outcome)); }

  std::optional<std::size_t> turn;  // if it has one

 private:
  Pending* const pending_;
  const Context context_;
  DecideTask task_;
  const Monotonic end_;
};

// Waits for the time of a ticket that waits for its turn.
class MemcachedLoop::Alarm final : public remote::AsyncTask {
 public:
  Alarm(std::size_t of, std::uint64_t number, Duration time)
      : turn(of), id(number), pause_(time) {}

  remote::Task* task() override { return &pause_; }

  const std::size_t turn;
  const std::uint64_t id;

 private:
  class Pause final : public remote::Task {
   public:
    explicit Pause(Duration time) : time_(time) {}

    Step start() override { return {Step::Kind::kPause, time_}; }
    Step resumed() override { return {}; }
    Step answered(remote::Outcome /*outcome*/) override { return {}; }
    std::string_view bytes() const override { return {}; }
    const remote::Target& target() const override { return target_; }

   private:
    const Duration time_;
    const remote::Target target_;
  };

  Pause pause_;
};

MemcachedLoop::MemcachedLoop(remote::Router* router, const Settings& settings)
    : settings_(settings),
      loop_(router, settings, [this](Tasks tasks) { finished(tasks); }) {
  watch_forks();
}

MemcachedLoop::~MemcachedLoop() { unwatch_forks(); }

// Who has a turn is the parent's.
void MemcachedLoop::after_fork_in_child() {
  turns_.clear();
  mutex_.unlock();
}

void MemcachedLoop::start(Pending* pending, const Context& context) {
  const Duration time =
      std::min<Duration>(settings_.timeout, time_limit_.load());
  loop_.start(std::make_unique<Ticket>(pending, context, time), time);
}

void MemcachedLoop::finished(Tasks tasks) {
  for (Owned& task : tasks) {
    if (const auto* const alarm = dynamic_cast<Alarm*>(task.get())) {
      if (alarm->status.ok()) ring(*alarm);
    } else {
      finish(std::move(task));
    }
  }
}

void MemcachedLoop::finish(Owned owned) {
  auto& ticket = static_cast<Ticket&>(*owned);
  const bool is_over = !ticket.status.ok();  // and so is the loop
  if (!is_over && ticket.task()->wants_turn()) {
    return wait(std::move(owned), ticket.task()->turn());
  }
  if (ticket.turn) pass(*ticket.turn, is_over);
  ticket.complete();
}

// Until it has its turn, which may be at once.
void MemcachedLoop::wait(Owned owned, std::size_t turn) {
  auto& ticket = static_cast<Ticket&>(*owned);
  try {
    const std::lock_guard lock(mutex_);
    const auto [place, is_first] = turns_.try_emplace(turn);
    if (!is_first) {
      place->second.waiting.push_back(std::move(owned));
    } else {
      ticket.turn = turn;
    }
  } catch (const std::bad_alloc&) {
    return ticket.complete(Status::no_memory());
  }
  if (owned == nullptr) return set_alarm(turn);
  if (!go_on(&owned)) pass(turn, false);
}

// If there is no memory for it, they wait for their turn alone.
void MemcachedLoop::set_alarm(std::size_t turn) {
  Duration time{};
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = turns_.find(turn);
    if (found == turns_.end() || found->second.waiting.empty() ||
        found->second.alarm != 0) {
      return;
    }
    time = static_cast<Ticket&>(*found->second.waiting.front()).time_left();
    id = found->second.alarm = ++alarms_;
  }
  try {
    // A pause that does not end before its task is one that ends with it.
    loop_.start(std::make_unique<Alarm>(turn, id, time), Duration::max() / 4);
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(mutex_);
    const auto found = turns_.find(turn);
    if (found != turns_.end() && found->second.alarm == id) {
      found->second.alarm = 0;
    }
  }
}

// Those whose time is over have not had their turn in time.
void MemcachedLoop::ring(const Alarm& alarm) {
  while (true) {
    Owned late;
    {
      const std::lock_guard lock(mutex_);
      const auto found = turns_.find(alarm.turn);
      // It may be another turn by now.
      if (found == turns_.end() || found->second.alarm != alarm.id) return;
      std::deque<Owned>& waiting = found->second.waiting;
      const auto is_late = [](const Owned& one) {
        return static_cast<Ticket&>(*one).time_left() == Duration::zero();
      };
      const auto first = std::ranges::find_if(waiting, is_late);
      if (first == waiting.end()) {
        found->second.alarm = 0;
        break;
      }
      late = std::move(*first);
      waiting.erase(first);
    }
    auto& ticket = static_cast<Ticket&>(*late);
    ticket.task()->give_up();
    ticket.complete();
  }
  set_alarm(alarm.turn);
}

// To the next one; or to nobody, because the loop is over.
void MemcachedLoop::pass(std::size_t turn, bool is_over) {
  while (true) {
    Owned next;
    {
      const std::lock_guard lock(mutex_);
      const auto found = turns_.find(turn);
      if (found == turns_.end()) return;
      std::deque<Owned>& waiting = found->second.waiting;
      if (waiting.empty()) {
        turns_.erase(found);
        return;
      }
      next = std::move(waiting.front());
      waiting.pop_front();
    }
    auto& ticket = static_cast<Ticket&>(*next);
    if (is_over) {
      ticket.complete(Status::limiter_is_closed());
      continue;
    }
    ticket.turn = turn;
    if (go_on(&next)) return;
  }
}

// If its time has passed by now, it learns that at once.  False: it is
// completed, because there was no memory to go on.
bool MemcachedLoop::go_on(Owned* owned) {
  auto& ticket = static_cast<Ticket&>(**owned);
  try {
    loop_.start({owned, 1}, ticket.time_left());
    return true;
  } catch (const std::bad_alloc&) {
    ticket.complete(Status::no_memory());
    return false;
  }
}

}  // namespace limitree::memcached
