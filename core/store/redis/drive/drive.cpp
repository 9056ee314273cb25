#include "store/redis/drive/drive.hpp"

#include <string>
#include <string_view>

namespace limitree::redis {

namespace {

// The reverse of to_status().
Failure failure_named(std::string_view name) {
  for (std::size_t i = 0; i < kFailureCount; ++i) {
    const auto failure = static_cast<Failure>(i);
    if (name == failure_name(failure)) return failure;
  }
  return Failure::kRefused;
}

}  // namespace

void show_reply(Task* task, Outcome* outcome) {
  if (outcome->fate != Outcome::Fate::kAnswered ||
      outcome->failure != Failure::kNone || task->accepts(*outcome->reply)) {
    return;
  }
  outcome->failure = Failure::kNoDecision;
  outcome->detail = "a reply that is no decision";
}

void report(const Outcome& outcome, Duration took, Monotonic now, Node* node) {
  Health& health = node->health();
  Traffic& traffic = node->traffic();
  const bool answered = outcome.fate == Outcome::Fate::kAnswered;
  if (answered) traffic.count_round_trip(took);
  if (outcome.failure != Failure::kNone) traffic.count(outcome.failure);
  if (answered || outcome.failure == Failure::kNoDecision) {
    is_outage(outcome.failure) ? health.failed(now) : health.succeeded();
  } else if (health.open()) {
    // This was the one that was let through, and somebody has to say so.
    if (outcome.failure == Failure::kTimeout) health.failed(now);
    if (outcome.failure == Failure::kLate) health.let_try(now);
  }
}

bool is_stale(const Outcome& outcome) {
  return outcome.fate == Outcome::Fate::kNotSent &&
         outcome.failure == Failure::kLost;
}

Outcome no_route(const Status& failure) {
  if (failure.ok()) {
    return Outcome::lost(Outcome::Fate::kNotSent, Failure::kRefused,
                         "no server is known");
  }
  return Outcome::lost(Outcome::Fate::kNotSent,
                       failure_named(failure.error().reason),
                       failure.error().messages.front());
}

Outcome timed_out(bool sent, std::string_view waits_for) {
  if (sent) {
    return Outcome::lost(Outcome::Fate::kUnknown, Failure::kTimeout,
                         "no answer in time");
  }
  std::string detail = "no connection in time";
  if (!waits_for.empty()) detail.append(": ").append(waits_for);
  return Outcome::lost(Outcome::Fate::kNotSent, Failure::kTimeout,
                       std::move(detail));
}

Outcome came_late() {
  return Outcome::lost(Outcome::Fate::kNotSent, Failure::kLate,
                       "this process had no time to send it");
}

}  // namespace limitree::redis
