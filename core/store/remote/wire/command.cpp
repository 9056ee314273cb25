#include "store/remote/wire/command.hpp"

#include <new>

namespace limitree::remote {

Outcome Outcome::lost(Fate fate, Failure failure, std::string detail) {
  Outcome outcome;
  outcome.fate = fate;
  outcome.failure = failure;
  outcome.detail = std::move(detail);
  return outcome;
}

Outcome Outcome::lost_anyway(Fate fate, Failure failure,
                             std::string_view detail) noexcept {
  Outcome outcome;
  outcome.fate = fate;
  outcome.failure = failure;
  try {
    outcome.detail = detail;
  } catch (const std::bad_alloc&) {
    outcome.detail.clear();
  }
  return outcome;
}

Outcome Outcome::timed_out(bool sent, std::string_view waits_for) {
  if (sent) {
    return lost(Fate::kUnknown, Failure::kTimeout, "no answer in time");
  }
  std::string detail = "no connection in time";
  if (!waits_for.empty()) detail.append(": ").append(waits_for);
  return lost(Fate::kNotSent, Failure::kTimeout, std::move(detail));
}

Outcome Outcome::came_late() {
  return lost(Fate::kNotSent, Failure::kLate,
              "this process had no time to send it");
}

}  // namespace limitree::remote
