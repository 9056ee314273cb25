#include "store/remote/drivers/attempt.hpp"

#include <utility>

namespace limitree::remote {

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
      outcome->failure != Failure::kNone || task->accepts(*outcome)) {
    return;
  }
  outcome->failure = Failure::kNoDecision;
  outcome->detail = "a reply that is not a decision";
}

void report_answer(Failure failure, Monotonic now, Health* health) {
  is_outage(failure) ? health->failed(failure, now) : health->succeeded();
}

void report(const Outcome& outcome, Duration took, Monotonic now, Node* node) {
  Health& health = node->health();
  Traffic& traffic = node->traffic();
  const bool answered = outcome.fate == Outcome::Fate::kAnswered;
  if (answered) traffic.count_round_trip(took);
  if (outcome.failure != Failure::kNone) traffic.count(outcome.failure);
  if (answered || outcome.failure == Failure::kNoDecision) {
    report_answer(outcome.failure, now, &health);
  } else if (health.open()) {
    // The circuit breaker let this one through, and needs its result.
    if (outcome.failure == Failure::kTimeout) {
      health.failed(outcome.failure, now);
    }
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
                       failure.message());
}

Status failure_of(const Outcome& outcome, std::string_view where) {
  Status status = to_status(outcome.failure, where, outcome.detail);
  if (outcome.fate != Outcome::Fate::kUnknown ||
      status.code() == Code::kStoreProtocol) {
    return status;
  }
  Error error = status.error();
  error.code = Code::kStoreTimeout;
  return Status(std::move(error));
}

}  // namespace limitree::remote
