#include "store/remote/drivers/client.hpp"

#include "store/remote/drivers/attempt.hpp"

namespace limitree::remote {

namespace {

// Where a command belongs is the client's business.  What it has not found out
// by itself, it would not find out in a second attempt.
bool is_about_place(Failure failure) {
  switch (failure) {
    case Failure::kMoved:
    case Failure::kAsk:
    case Failure::kReadOnly:
    case Failure::kMasterDown:
      return true;
    default:
      return false;
  }
}

}  // namespace

// A caller that blocks.  It lives on the caller's stack.
class Client::Waiter final : public Client::Call {
 public:
  Wakeup wakeup;
  Outcome outcome;

 private:
  Wakeup::Sleeper take(Outcome result) noexcept override {
    outcome = std::move(result);
    return wakeup.set(Wakeup::Word::kDone);
  }
};

Outcome Client::exchange(Task* task, Patience* patience) {
  patience->look(steady_now());
  // That is the caller's doing, and says nothing about the server.
  if (patience->over()) {
    node_.traffic().count(Failure::kLate);
    return Outcome::came_late();
  }
  Waiter me;
  if (std::optional<Outcome> refused = begin(&me)) return std::move(*refused);
  send(me.token(), task->bytes(), patience->left());
  Wakeup::Word word = Wakeup::Word::kNone;
  while (word != Wakeup::Word::kDone && !patience->over()) {
    word = me.wakeup.wait(word, patience->wait_until());
    patience->look(steady_now());
  }
  if (word != Wakeup::Word::kDone && forget(me)) {
    me.outcome = Outcome::timed_out(true);
  }
  settle(me, task, &me.outcome);
  return std::move(me.outcome);
}

std::optional<Outcome> Client::begin(Call* call) {
  const Monotonic now = steady_now();
  const char* why = "too many commands wait for the client";
  {
    const std::lock_guard lock(mutex_);
    if (calls_.size() < kMaxCalls) {
      if (node_.health().may_try(now)) {
        call->token_ = ++last_token_;
        call->sent_at_ = now;
        calls_.emplace(call->token_, call);
        return std::nullopt;
      }
      why = "not tried, the last attempts failed";
    }
  }
  node_.traffic().count(Failure::kBackoff);
  return Outcome::lost(Outcome::Fate::kNotSent, Failure::kBackoff, why);
}

void Client::send(std::uint64_t token, std::string_view bytes,
                  Duration time_left) noexcept {
  try {
    send_(token, bytes, time_left);
  } catch (...) {
    Outcome none;  // its text is empty: there may be no memory for one
    none.failure = Failure::kRefused;
    reply(token, std::move(none));
  }
}

bool Client::forget(const Call& call) {
  const std::lock_guard lock(mutex_);
  return calls_.erase(call.token_) != 0;
}

bool Client::reply(std::uint64_t token, Outcome outcome) {
  const bool is_answer = outcome.fate == Outcome::Fate::kAnswered;
  const bool is_alive = is_answer && !is_outage(outcome.failure);
  if (is_answer) heard_.store(steady_now(), std::memory_order_relaxed);
  Wakeup::Sleeper sleeper;
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(token);
    if (found != calls_.end()) {
      Call* const call = found->second;
      calls_.erase(found);
      sleeper = call->take(std::move(outcome));
      token = 0;
    }
  }
  if (token == 0) {
    sleeper.wake();
    return true;
  }
  // It came too late, but the server is there.
  if (is_alive) node_.health().let_try(steady_now());
  return false;
}

void Client::settle(const Call& call, Task* task, Outcome* outcome) {
  const Monotonic now = steady_now();
  show_reply(task, outcome);
  report(*outcome, now - call.sent_at_, now, &node_);
  report_end(call, *outcome, now);
  if (outcome->fate == Outcome::Fate::kAnswered &&
      is_about_place(outcome->failure)) {
    outcome->fate = Outcome::Fate::kNotSent;
  }
}

// What a connection of our own would report: that it broke, or was silent.
void Client::report_end(const Call& call, const Outcome& outcome,
                        Monotonic now) {
  Health& health = node_.health();
  if (outcome.failure == Failure::kTimeout) {
    if (heard_.load(std::memory_order_relaxed) < call.sent_at_) {
      health.silent(now);
    }
  } else if (outcome.fate != Outcome::Fate::kAnswered &&
             is_outage(outcome.failure)) {
    health.broke(call.sent_at_, now);
  }
}

}  // namespace limitree::remote
