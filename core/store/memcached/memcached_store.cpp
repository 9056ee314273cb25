#include "store/memcached/memcached_store.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "store/entropy.hpp"
#include "store/memcached/decide_task.hpp"
#include "store/memcached/memcached_loop.hpp"
#include "store/remote/drivers/attempt.hpp"

namespace limitree::memcached {

namespace {

// A command to one server whose answer needs no judgement.
class PingTask final : public remote::Task {
 public:
  explicit PingTask(remote::Node* node) { target_.node = node; }

  Step start() override { return {Step::Kind::kSend}; }
  Step answered(remote::Outcome outcome) override {
    if (outcome.failure != remote::Failure::kNone) {
      status_ = failure_of(outcome, target_.node->endpoint().text());
    }
    return {};
  }
  Step resumed() override { return {}; }
  std::string_view bytes() const override { return "mn\r\n"; }
  const remote::Target& target() const override { return target_; }
  Status take_status() { return std::move(status_); }

 private:
  remote::Target target_;
  Status status_;
};

}  // namespace

MemcachedStore::MemcachedStore(Settings settings, Clock clock)
    : settings_(std::move(settings)),
      clock_(clock),
      writer_(clock.is_callers() ? random_word() | 1U : 0),
      protocol_(settings_.url),
      servers_(protocol_, &traffic_),
      driver_(&servers_, settings_) {
  if (settings_.url.srv.empty()) {
    servers_.set(settings_.url.endpoints);
  } else {
    servers_.follow(settings_.url.srv, settings_.url.refresh);
  }
  watch_forks();
}

MemcachedStore::~MemcachedStore() { unwatch_forks(); }

Context MemcachedStore::context() {
  servers_.look(steady_now());
  return {settings_, servers_, clock_, writer_};
}

Status MemcachedStore::decide(Plan* plan) {
  const Context own = context();
  DecideTask task(plan, Decision::Kind::kDecide, own);
  return run_task(&task);
}

// The plan is read only: that is what kForget says.
Status MemcachedStore::reset(const Plan& plan) {
  const Context own = context();
  DecideTask task(const_cast<Plan*>(&plan), Decision::Kind::kForget, own);
  return run_task(&task);
}

Status MemcachedStore::run_task(DecideTask* task) {
  const Monotonic end = after(steady_now(), settings_.timeout);
  driver_.run(task, settings_.timeout);
  if (!task->wants_turn()) return task->take_status();
  const std::size_t turn = task->turn();
  if (!turns_.take(turn, end)) {
    task->give_up();
    return task->take_status();
  }
  // Also if it throws.
  const auto pass = [&](Turns* turns) { turns->pass(turn); };
  const std::unique_ptr<Turns, decltype(pass)> passes(&turns_, pass);
  const Duration left = end - steady_now();
  driver_.run(task, std::max(left, Duration::zero()));
  return task->take_status();
}

std::unique_ptr<StoreLoop> MemcachedStore::new_loop() {
  return std::make_unique<MemcachedLoop>(&servers_, settings_);
}

bool MemcachedStore::start(Pending* pending, Status* status) {
  auto* const loop = static_cast<MemcachedLoop*>(pending->loop());
  if (loop->fd() < 0) {  // its host could not be woken
    *status = to_status(remote::Failure::kRefused, "limitree",
                        "no descriptor for an event loop to watch");
    return true;
  }
  loop->start(pending, context());
  return false;
}

// All servers, because each of them has keys.
Status MemcachedStore::ping() {
  std::string why;
  if (!servers_.wait(after(steady_now(), settings_.timeout), &why)) {
    return no_server(why);
  }
  for (remote::Node* const node : servers_.all()) {
    PingTask task(node);
    driver_.run(&task, settings_.timeout);
    if (Status status = task.take_status(); !status.ok()) return status;
  }
  return {};
}

void MemcachedStore::before_fork() {
  turns_.before_fork();
  servers_.before_fork();
  driver_.before_fork();
}

void MemcachedStore::after_fork() {
  driver_.after_fork_in_parent();
  servers_.after_fork();
  turns_.after_fork_in_parent();
}

void MemcachedStore::after_fork_in_child() {
  driver_.after_fork_in_child();
  servers_.after_fork_in_child();
  turns_.after_fork_in_child();
}

}  // namespace limitree::memcached
