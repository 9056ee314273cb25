#include "store/memcached/memcached_store.hpp"

#include <string>
#include <utility>

#include "store/entropy.hpp"
#include "store/memcached/decide_task.hpp"
#include "store/remote/drivers/attempt.hpp"
#include "store/remote/drivers/loop.hpp"

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

// What a loop does for the limiter.
class MemcachedStore::Ticket final : public remote::AsyncTask {
 public:
  Ticket(Pending* pending, MemcachedStore* store)
      : pending_(pending),
        context_(store->context()),
        task_(&pending->plan(),
              pending->kind() == Pending::Kind::kDecide
                  ? Decision::Kind::kDecide
                  : Decision::Kind::kForget,
              context_) {}

  remote::Task* task() override { return &task_; }
  void complete() {
    pending_->complete(status.ok() ? task_.take_status() : std::move(status));
  }

 private:
  Pending* const pending_;
  const Context context_;
  DecideTask task_;
};

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
  driver_.run(&task, settings_.timeout);
  return task.take_status();
}

// The plan is read only: that is what kForget says.
Status MemcachedStore::reset(const Plan& plan) {
  const Context own = context();
  DecideTask task(const_cast<Plan*>(&plan), Decision::Kind::kForget, own);
  driver_.run(&task, settings_.timeout);
  return task.take_status();
}

void MemcachedStore::complete(
    std::span<std::unique_ptr<remote::AsyncTask>> tasks) {
  for (const std::unique_ptr<remote::AsyncTask>& task : tasks) {
    static_cast<Ticket&>(*task).complete();
  }
}

std::unique_ptr<StoreLoop> MemcachedStore::new_loop() {
  return std::make_unique<remote::Loop>(&servers_, settings_, complete);
}

bool MemcachedStore::start(Pending* pending, Status* status) {
  auto* const loop = static_cast<remote::Loop*>(pending->loop());
  if (loop->fd() < 0) {  // its host could not be woken
    *status = to_status(remote::Failure::kRefused, "limitree",
                        "no descriptor for an event loop to watch");
    return true;
  }
  loop->start(std::make_unique<Ticket>(pending, this), settings_.timeout);
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

StoreStats MemcachedStore::stats() {
  StoreStats stats;
  traffic_.add_to(&stats);
  return stats;
}

void MemcachedStore::before_fork() {
  servers_.before_fork();
  driver_.before_fork();
}

void MemcachedStore::after_fork() {
  driver_.after_fork_in_parent();
  servers_.after_fork();
}

void MemcachedStore::after_fork_in_child() {
  driver_.after_fork_in_child();
  servers_.after_fork_in_child();
}

}  // namespace limitree::memcached
