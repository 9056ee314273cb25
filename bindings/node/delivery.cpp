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

// Answers on their way.  If the thread ends, at any moment, the rest is
// dropped: nothing waits for them any more.
class Outgoing {
 public:
  Outgoing(Native& native, std::span<const Answer> answers)
      : native_(native), answers_(answers) {}
  ~Outgoing() {
    while (!is_empty()) take();
  }
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  bool is_empty() const { return next_ == answers_.size(); }
  const Answer& front() const { return answers_[next_]; }

  // Takes the first answer; its request is over.
  std::unique_ptr<Pending> take() {
    native_.end_request();
    return std::unique_ptr<Pending>(
        static_cast<Pending*>(answers_[next_++].request));
  }

 private:
  Native& native_;
  const std::span<const Answer> answers_;
  std::size_t next_ = 0;
};

void deliver(Native& native, Outgoing* answers) {
  Environment& environment = native.environment();
  double* const first = environment.numbers() + kInputSize;
  const double* const last = environment.numbers() + kArraySize - kMaxAnswer;
  while (!answers->is_empty()) {
    const Napi::HandleScope scope(environment.env());
    Napi::Array errors = Napi::Array::New(environment.env());
    double* to = first;
    std::size_t count = 0;
    while (!answers->is_empty() && to <= last) {
      const Answer& answer = answers->front();
      if (static_cast<Pending*>(answer.request)->envoy != nullptr) {
        answers->take()->envoy->settle(environment, answer);
        continue;
      }
      ++count;
      if (answer.status < 0) {
        errors.Set(errors.Length(),
                   environment.error_value(answer.status, answer.reason,
                                           answer.messages));
      }
      to = write_answer(answer, *answers->take(), &native.policies(), to);
    }
    environment.call_deliver(count, errors);
  }
}

}  // namespace

void deliver(Native& native, std::span<const Answer> answers) {
  Outgoing outgoing(native, answers);
  if (!native.environment().is_ending()) deliver(native, &outgoing);
}

void deliver_from_loop(Native& native, std::span<const Answer> answers) {
  if (answers.empty()) return;
  Outgoing outgoing(native, answers);
  native.environment().run_from_loop([&] { deliver(native, &outgoing); });
}

}  // namespace limitree::node
