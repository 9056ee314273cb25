#include "store/remote/drivers/connection_pool.hpp"

#include <limits>
#include <utility>

#include "store/remote/drivers/attempt.hpp"

namespace limitree::remote {

namespace {

using SteadyClock = std::chrono::steady_clock;

// Between two looks for late answers.
constexpr auto kLookEvery = std::chrono::milliseconds(1);

}  // namespace

ConnectionPool::ConnectionPool(Node* node, const Settings& settings)
    : node_(node) {
  for (std::int64_t i = 0; i < settings.connections; ++i) {
    channels_.push_back(std::make_unique<Channel>(node, settings));
  }
}

ConnectionPool::~ConnectionPool() = default;

// The first idle channel, or else the one with the fewest callers.
Channel* ConnectionPool::join(std::uint64_t silent) {
  for (;;) {
    Channel* best = nullptr;
    std::int32_t fewest = std::numeric_limits<std::int32_t>::max();
    for (std::size_t i = 0; i < channels_.size() && fewest > 0; ++i) {
      const std::int32_t callers = channels_[i]->callers();
      if (callers >= fewest || (silent >> i & 1) != 0) continue;
      best = channels_[i].get();
      fewest = callers;
    }
    if (best == nullptr || best->join(fewest)) return best;
  }
}

// While the circuit is open nobody waits for answers.  A caller that would be
// refused looks for them, so that an outage ends with the first answer and not
// with the wait.
bool ConnectionPool::may_try(Monotonic now) {
  Health& health = node_->health();
  if (health.may_try(now)) return true;
  if (!take_turn(&next_look_, now, kLookEvery)) return false;
  Channel* listens = nullptr;
  for (const auto& channel : channels_) {
    if (channel->read_late(now) && listens == nullptr) listens = channel.get();
  }
  // Renewing one connection is enough: the others are still good if it hangs.
  if (listens != nullptr) listens->renew(now);
  return health.may_try(now);
}

Outcome ConnectionPool::exchange(Task* task, Patience* patience) {
  const Monotonic started = patience->look(SteadyClock::now());
  // That is the caller's doing, and says nothing about the server.
  if (patience->over()) {
    node_->traffic().count(Failure::kLate);
    return Outcome::came_late();
  }
  if (!may_try(started)) {
    node_->traffic().count(Failure::kBackoff);
    return Outcome::lost(Outcome::Fate::kNotSent, Failure::kBackoff,
                         "not tried, the last attempts failed");
  }
  Outcome outcome = attempt(*task, patience);
  Monotonic now = patience->look(SteadyClock::now());
  if (is_stale(outcome) && !patience->over()) {
    outcome = attempt(*task, patience);
    now = patience->look(SteadyClock::now());
  }
  show_reply(task, &outcome);
  report(outcome, now - started, now, node_);
  return outcome;
}

Outcome ConnectionPool::attempt(const Task& task, Patience* patience) {
  std::uint64_t silent = 0;  // channels where answers are overdue
  for (;;) {
    Channel* const channel = join(silent);
    if (channel == nullptr) {
      return Outcome::lost(Outcome::Fate::kNotSent, Failure::kBackoff,
                           "answers are overdue");
    }
    const auto leave = [](Channel* joined) { joined->leave(); };
    std::unique_ptr<Channel, decltype(leave)> joined(channel, leave);
    std::optional<Outcome> outcome = channel->exchange(task, patience);
    joined.reset();
    if (outcome) return std::move(*outcome);
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      if (channels_[i].get() == channel) silent |= std::uint64_t{1} << i;
    }
  }
}

void ConnectionPool::post(std::string_view bytes) {
  const Monotonic now = SteadyClock::now();
  if (node_->health().may_try(now)) channels_.front()->post(bytes, now);
}

std::optional<Outcome> ConnectionPool::take_posted() {
  std::optional<Outcome> outcome = channels_.front()->take_posted();
  if (outcome && outcome->fate == Outcome::Fate::kAnswered) {
    report_answer(outcome->failure, SteadyClock::now(), &node_->health());
  }
  return outcome;
}

void ConnectionPool::close(Failure failure, const std::string& detail) {
  for (const auto& channel : channels_) channel->drop(failure, detail);
}

void ConnectionPool::before_fork() {
  for (const auto& channel : channels_) channel->before_fork();
}

void ConnectionPool::after_fork_in_parent() {
  for (const auto& channel : channels_) channel->after_fork_in_parent();
}

void ConnectionPool::after_fork_in_child() {
  for (const auto& channel : channels_) channel->after_fork_in_child();
}

}  // namespace limitree::remote
