#include "store/redis/drive/drive.hpp"

#include <string>
#include <string_view>

namespace limitree::redis {

namespace {

// The reverse of to_status().
Trouble trouble_named(std::string_view name) {
  for (std::size_t i = 0; i < kTroubleCount; ++i) {
    const auto trouble = static_cast<Trouble>(i);
    if (name == trouble_name(trouble)) return trouble;
  }
  return Trouble::kRefused;
}

}  // namespace

void show_reply(Task* task, Outcome* outcome) {
  if (outcome->fate != Outcome::Fate::kAnswered ||
      outcome->trouble != Trouble::kNone || task->accepts(*outcome->reply)) {
    return;
  }
  outcome->trouble = Trouble::kNoDecision;
  outcome->detail = "a reply that is no decision";
}

void report(const Outcome& outcome, Duration took, Monotonic now,
            Health* health, Traffic* traffic) {
  const bool answered = outcome.fate == Outcome::Fate::kAnswered;
  if (answered) traffic->count_round_trip(took);
  if (outcome.trouble != Trouble::kNone) traffic->count(outcome.trouble);
  if (answered || outcome.trouble == Trouble::kNoDecision) {
    is_outage(outcome.trouble) ? health->failed(now) : health->succeeded();
  } else if (health->open()) {
    // This was the one that was let through, and somebody has to say so.
    if (outcome.trouble == Trouble::kTimeout) health->failed(now);
    if (outcome.trouble == Trouble::kLate) health->let_try(now);
  }
}

bool is_stale(const Outcome& outcome) {
  return outcome.fate == Outcome::Fate::kNotSent &&
         outcome.trouble == Trouble::kLost;
}

Outcome no_route(const Status& failure) {
  if (failure.ok()) {
    return Outcome::lost(Outcome::Fate::kNotSent, Trouble::kRefused,
                         "no server is known");
  }
  return Outcome::lost(Outcome::Fate::kNotSent,
                       trouble_named(failure.error().reason),
                       failure.error().messages.front());
}

Outcome timed_out(bool sent, std::string_view waits_for) {
  if (sent) {
    return Outcome::lost(Outcome::Fate::kUnknown, Trouble::kTimeout,
                         "no answer in time");
  }
  std::string detail = "no connection in time";
  if (!waits_for.empty()) detail.append(": ").append(waits_for);
  return Outcome::lost(Outcome::Fate::kNotSent, Trouble::kTimeout,
                       std::move(detail));
}

Outcome came_late() {
  return Outcome::lost(Outcome::Fate::kNotSent, Trouble::kLate,
                       "this process had no time to send it");
}

}  // namespace limitree::redis
