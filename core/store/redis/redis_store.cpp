#include "store/redis/redis_store.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/recycled.hpp"
#include "store/redis/drivers/decide_task.hpp"
#include "store/redis/drivers/retry.hpp"
#include "store/redis/route/make_router.hpp"
#include "store/redis/wire/reader.hpp"
#include "store/redis/wire/resp.hpp"
#include "store/remote/drivers/client.hpp"
#include "store/remote/drivers/client_loop.hpp"
#include "store/remote/drivers/loop.hpp"

namespace limitree::redis {

namespace {

std::string bytes_of(const ClientReply& reply) {
  std::string bytes;
  switch (reply.kind) {
    case ClientReply::Kind::kText:
      append_word(reply.text, &bytes);
      return bytes;
    case ClientReply::Kind::kError:
      bytes.append("-").append(reply.text.substr(0, Reader::kMaxLine));
      std::ranges::replace(bytes, '\r', ' ');
      std::ranges::replace(bytes, '\n', ' ');
      return bytes.append("\r\n");
    default:
      return ":0\r\n";  // no decision is a number
  }
}

// What a client of the host says about a command, as what a connection of our
// own would have said.  The same parser makes the reply, within its bounds.
Outcome outcome_of(const ClientReply& reply) {
  const bool is_lost = reply.kind == ClientReply::Kind::kLost;
  if (is_lost || reply.kind == ClientReply::Kind::kUnsent) {
    const auto fate =
        is_lost ? Outcome::Fate::kUnknown : Outcome::Fate::kNotSent;
    return Outcome::lost(fate, Failure::kLost, std::string(reply.text));
  }
  Reader reader;
  reader.feed(bytes_of(reply));
  Reply made = reader.next();
  if (made == nullptr) {
    return Outcome::lost(Outcome::Fate::kUnknown, Failure::kProtocol,
                         reader.detail());
  }
  return answered(std::move(made));
}

}  // namespace

// Commands whose answers need no judgement, one after the other: forgetting
// buckets, asking whether a server is there.
class PlainTask final : public Task {
 public:
  explicit PlainTask(const Settings& settings) : settings_(settings) {}

  // Adds a command, for the node that has `place`.  Only before start().
  void add(const Place& place, std::string bytes) {
    commands_.push_back({place, std::move(bytes)});
  }

  Step start() override { return next(); }

  Step answered(Outcome outcome) override {
    if (outcome.failure == Failure::kNone) {
      ++at_;
      return next();
    }
    if (const auto again = retry_.after(outcome)) return *again;
    status_ = retry_.failure(outcome, settings_);
    return {};
  }

  Step resumed() override { return {Step::Kind::kSend}; }
  std::string_view bytes() const override { return commands_[at_].bytes; }
  const Target& target() const override { return retry_.target(); }

  // The first failure; commands after it have not been sent.
  Status take_status() { return std::move(status_); }

 private:
  struct Item {
    Place place;
    std::string bytes;
  };

  Step next() {
    if (at_ == commands_.size()) return {};
    retry_.begin(commands_[at_].place);
    return {Step::Kind::kSend};
  }

  const Settings& settings_;
  std::vector<Item> commands_;
  std::size_t at_ = 0;
  Retry retry_;
  Status status_;
};

// What a loop does for the limiter.
class RedisStore::Ticket : public AsyncTask {
 public:
  void complete() { answer(status.ok() ? take_status() : std::move(status)); }

 private:
  virtual Status take_status() = 0;
  virtual void answer(Status outcome) = 0;
};

// A request, and the commands it takes.
class RedisStore::RequestTicket : public Ticket {
 protected:
  explicit RequestTicket(Pending* pending) : pending_(pending) {}

 private:
  void answer(Status outcome) final { pending_->complete(std::move(outcome)); }

  Pending* const pending_;
};

class RedisStore::DecideTicket final : public RequestTicket,
                                       public Recycled<DecideTicket, 512> {
 public:
  DecideTicket(Pending* pending, const RedisStore& store)
      : RequestTicket(pending),
        task_(&pending->plan(), store.settings_, *store.router_, store.now()) {}

  DecideTask* task() override { return &task_; }

 private:
  Status take_status() override { return task_.conclude(); }

  DecideTask task_;
};

// A request whose parts are asked for at the same time.
class RedisStore::Split {
 public:
  static void start(std::unique_ptr<DecideTicket> whole, TaskLoop* loop,
                    Duration time) {
    const auto split = std::make_shared<Split>(std::move(whole));
    std::vector<std::unique_ptr<AsyncTask>> parts;
    for (DecideTask& task : split->tasks_) {
      parts.push_back(std::make_unique<Part>(split, &task));
    }
    loop->start(parts, time);
  }

  explicit Split(std::unique_ptr<DecideTicket> whole)
      : whole_(std::move(whole)), open_(whole_->task()->parts()) {
    for (std::size_t i = 0; i < open_; ++i) {
      tasks_.emplace_back(*whole_->task(), i);
    }
  }

 private:
  class Part final : public Ticket {
   public:
    Part(std::shared_ptr<Split> split, DecideTask* task)
        : split_(std::move(split)), task_(*task) {}

    Task* task() override { return &task_; }

   private:
    Status take_status() override { return task_.take_status(); }
    void answer(Status outcome) override { split_->take(std::move(outcome)); }

    const std::shared_ptr<Split> split_;
    DecideTask& task_;
  };

  // The outcome of one part.  The first failure is that of the request.
  void take(Status outcome) {
    {
      const std::lock_guard lock(mutex_);
      if (whole_->status.ok()) whole_->status = std::move(outcome);
      if (--open_ > 0) return;
    }
    whole_->complete();
  }

  const std::unique_ptr<DecideTicket> whole_;
  std::deque<DecideTask> tasks_;
  std::mutex mutex_;
  std::size_t open_;  // parts without an outcome
};

class RedisStore::ResetTicket final : public RequestTicket {
 public:
  ResetTicket(Pending* pending, const RedisStore& store)
      : RequestTicket(pending), task_(store.settings_) {
    store.add_resets(pending->plan(), &task_);
  }

  Task* task() override { return &task_; }

 private:
  Status take_status() override { return task_.take_status(); }

  PlainTask task_;
};

RedisStore::RedisStore(Settings settings, std::optional<Clock> clock)
    : settings_(std::move(settings)),
      clock_(clock),
      router_(make_router(settings_, &traffic_)),
      client_(
          settings_.url.is_client
              ? std::make_unique<Client>(router_->route({}), settings_.client)
              : nullptr),
      driver_(router_.get(), settings_, client_.get()) {
  watch_forks();
}

RedisStore::~RedisStore() { unwatch_forks(); }

Now RedisStore::now() const {
  if (!clock_) return std::nullopt;
  return clock_->now();
}

Status RedisStore::decide(Plan* plan) {
  DecideTask task(plan, settings_, *router_, now());
  driver_.run(&task, settings_.timeout);
  return task.conclude();
}

void RedisStore::complete(std::span<std::unique_ptr<AsyncTask>> tasks) {
  for (const std::unique_ptr<AsyncTask>& task : tasks) {
    static_cast<Ticket&>(*task).complete();
  }
}

std::unique_ptr<StoreLoop> RedisStore::new_loop() {
  if (client_ != nullptr) {
    return std::make_unique<ClientLoop>(client_.get(), complete);
  }
  return std::make_unique<Loop>(router_.get(), settings_, complete);
}

bool RedisStore::start(Pending* pending, Status* status) {
  auto* const loop = static_cast<TaskLoop*>(pending->loop());
  if (!loop->can_wake()) {
    *status = to_status(Failure::kRefused, "limitree",
                        "no descriptor for an event loop to watch");
    return true;
  }
  std::unique_ptr<AsyncTask> one;
  if (pending->kind() == Pending::Kind::kReset) {
    one = std::make_unique<ResetTicket>(pending, *this);
  } else {
    auto ticket = std::make_unique<DecideTicket>(pending, *this);
    if (ticket->task()->parts() > 1) {
      Split::start(std::move(ticket), loop, settings_.timeout);
      return false;
    }
    one = std::move(ticket);
  }
  loop->start({&one, 1}, settings_.timeout);
  return false;
}

// One command for each bucket: there is nothing to be decided in one step.
void RedisStore::add_resets(const Plan& plan, PlainTask* task) const {
  for (const Level& level : plan.levels) {
    const Address address = address_of(plan, level, settings_.prefix);
    task->add(place_of(plan, level, settings_, *router_),
              reset_command(address, level.limit->holds()));
  }
}

Status RedisStore::reset(const Plan& plan) {
  PlainTask task(settings_);
  add_resets(plan, &task);
  driver_.run(&task, settings_.timeout);
  return task.take_status();
}

Status RedisStore::ping() {
  PlainTask task(settings_);
  task.add({.slot = 0}, command_of({"PING"}));
  if (settings_.per_second != nullptr) {
    task.add({.per_second = true, .slot = 0}, command_of({"PING"}));
  }
  driver_.run(&task, settings_.timeout);
  return task.take_status();
}

bool RedisStore::reply(std::uint64_t token, const ClientReply& reply) {
  return client_ != nullptr && client_->reply(token, outcome_of(reply));
}

void RedisStore::before_fork() {
  router_->before_fork();
  driver_.before_fork();
  if (client_ != nullptr) client_->before_fork();
}

void RedisStore::after_fork() {
  if (client_ != nullptr) client_->after_fork();
  driver_.after_fork_in_parent();
  router_->after_fork();
}

void RedisStore::after_fork_in_child() {
  if (client_ != nullptr) client_->after_fork_in_child();
  driver_.after_fork_in_child();
  router_->after_fork();
}

}  // namespace limitree::redis
