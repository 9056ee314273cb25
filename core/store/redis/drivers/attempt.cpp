#include "store/redis/drivers/attempt.hpp"

#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "store/entropy.hpp"
#include "store/redis/route/topology_reply.hpp"

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

// While a slot is being moved, its keys are on both sides for some
// milliseconds.
Duration short_pause() {
  thread_local std::minstd_rand random{
      static_cast<std::uint32_t>(random_word())};
  return Duration(
      std::uniform_int_distribution<std::int64_t>(500'000, 4'000'000)(random));
}

std::string name_of(const Settings& settings, const Target& target) {
  if (target.endpoint) return target.endpoint->text();
  const Url& url = settings.of(target.per_second).url;
  return url.topology == Topology::kSentinel ? url.service
                                             : url.endpoints.front().text();
}

}  // namespace

void show_reply(Task* task, Outcome* outcome) {
  if (outcome->fate != Outcome::Fate::kAnswered ||
      outcome->failure != Failure::kNone || task->accepts(*outcome->reply)) {
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

void Retry::begin(const Place& place) {
  target_ = {};
  target_.slot = place.slot;
  target_.per_second = place.per_second;
  attempts_ = 0;
}

std::optional<Task::Step> Retry::after(const Outcome& outcome) {
  if (outcome.fate != Outcome::Fate::kAnswered || !may_repeat()) return {};
  switch (outcome.failure) {
    case Failure::kAsk: {
      std::optional<Redirect> redirect = parse_redirect(*outcome.reply);
      if (!redirect) return {};  // an empty host: the router fills it in
      target_.endpoint = std::move(redirect->endpoint);
      target_.asking = true;
      return Task::Step{Task::Step::Kind::kSend};
    }
    case Failure::kMoved:
    case Failure::kReadOnly:
    case Failure::kMasterDown:
      // By now the router knows about it, and knows another node or how to find
      // one.
      target_.endpoint.reset();
      target_.asking = false;
      return Task::Step{Task::Step::Kind::kSend};
    case Failure::kTryAgain:
      return Task::Step{Task::Step::Kind::kPause, short_pause()};
    default:
      return {};
  }
}

Status Retry::failure(const Outcome& outcome, const Settings& settings) const {
  Status status =
      to_status(outcome.failure, name_of(settings, target_), outcome.detail);
  if (outcome.fate != Outcome::Fate::kUnknown ||
      status.code() == Code::kStoreProtocol) {
    return status;
  }
  Error error = status.error();
  error.code = Code::kStoreTimeout;
  return Status(std::move(error));
}

}  // namespace limitree::redis
