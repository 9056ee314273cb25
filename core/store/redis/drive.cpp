#include "store/redis/drive.hpp"

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

void report(const Outcome& outcome, Duration took, Monotonic now,
            Health* health, Traffic* traffic) {
  const bool answered = outcome.fate == Outcome::Fate::kAnswered;
  if (answered) traffic->count_round_trip(took);
  if (outcome.trouble != Trouble::kNone) traffic->count(outcome.trouble);
  if (is_outage(outcome.trouble)) {
    health->failed(now);
  } else if (answered) {
    health->succeeded();
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

Outcome timed_out(bool sent) {
  return Outcome::lost(sent ? Outcome::Fate::kUnknown : Outcome::Fate::kNotSent,
                       Trouble::kTimeout,
                       sent ? "no answer in time" : "no connection in time");
}

}  // namespace limitree::redis
