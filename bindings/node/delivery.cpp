#include "delivery.hpp"

#include <algorithm>

namespace limitree::node {

namespace {

// Writes one row; returns its end.
double* write_answer(const Answer& answer, const Pending& pending,
                     Policies* policies, double* to) {
  *to++ = pending.slot;
  *to++ = answer.status;
  if (answer.status < 0) return to;
  std::size_t count = 0;
  if (pending.levels != nullptr) {
    count = std::min(static_cast<std::size_t>(answer.decision.level_count),
                     kMaxLevels);
  }
  write_decision(answer.decision, count, to);
  return write_levels(pending.levels.get(), count, policies,
                      to + kDecisionSize);
}

std::unique_ptr<Pending> pending_of(const Answer& answer) {
  return std::unique_ptr<Pending>(static_cast<Pending*>(answer.request));
}

}  // namespace

void deliver(Native& native, std::vector<Answer> answers) {
  Environment& environment = native.environment();
  if (environment.is_ending()) {
    for (const Answer& answer : answers) {
      pending_of(answer);
      native.end_request();
    }
    return;
  }
  double* const first = environment.numbers() + kInputSize;
  const double* const last = environment.numbers() + kArraySize - kMaxAnswer;
  for (std::size_t next = 0; next < answers.size();) {
    const Napi::HandleScope scope(environment.env());
    Napi::Array errors = Napi::Array::New(environment.env());
    double* to = first;
    std::size_t count = 0;
    for (; next < answers.size() && to <= last; ++next, ++count) {
      const Answer& answer = answers[next];
      if (answer.status < 0) {
        errors.Set(errors.Length(),
                   environment.error_value(answer.status, answer.reason,
                                           answer.messages));
      }
      to = write_answer(answer, *pending_of(answer), &native.policies(), to);
      native.end_request();
    }
    environment.call_deliver(count, errors);
  }
}

void deliver_from_loop(Native& native, std::vector<Answer> answers) {
  if (answers.empty()) return;
  if (native.environment().is_ending()) {
    deliver(native, std::move(answers));
    return;
  }
  native.environment().run_from_loop(
      [&] { deliver(native, std::move(answers)); });
}

}  // namespace limitree::node
