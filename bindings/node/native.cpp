#include "native.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <utility>

namespace limitree::node {

namespace {

double number(std::int64_t value) { return static_cast<double>(value); }

// Writes one row; returns its end.
double* write_answer(const Answer& answer, const Pending& pending,
                     Policies* policies, double* to) {
  *to++ = pending.slot;
  *to++ = answer.status;
  if (answer.status < 0) return to;
  return write_decision(answer.decision, pending.levels.get(), policies, to);
}

// Answers that are being delivered.  If the thread ends meanwhile, the
// remaining answers are dropped, because nothing waits for them any more.
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
        errors.Set(
            errors.Length(),
            environment.error_value(answer.error.value_or(out_of_memory())));
      }
      to = write_answer(answer, *answers->take(), &native.policies(), to);
    }
    environment.call_deliver(count, errors);
  }
}

// Delivers `answers` inside a call from JavaScript: waiting code continues
// after that call.  Throws Napi::Error.
void deliver(Native& native, std::span<const Answer> answers) {
  Outgoing outgoing(native, answers);
  if (!native.environment().is_ending()) deliver(native, &outgoing);
}

// The same from the event loop: waiting code continues at once.
void deliver_from_loop(Native& native, std::span<const Answer> answers) {
  if (answers.empty()) return;
  Outgoing outgoing(native, answers);
  native.environment().run_from_loop([&] { deliver(native, &outgoing); });
}

class PoolCall final : public Napi::AsyncWorker {
 public:
  PoolCall(Native& native, PoolFunction function)
      : AsyncWorker(native.environment().env(), "limitree"),
        native_(native.shared_from_this()),
        function_(std::move(function)),
        promise_(native.environment().env()) {
    native_->begin_pool_call();
  }

  Napi::Promise promise() const { return promise_.Promise(); }

 protected:
  void Execute() override {
    try {
      number_ = function_(native_->engine());
    } catch (const limitree::Error& error) {
      error_ = error;
    } catch (const std::bad_alloc&) {
      error_ = out_of_memory();
    }
  }

  void OnOK() override {
    native_->end_pool_call();
    if (error_) {
      promise_.Reject(native_->environment().error_value(*error_));
    } else {
      promise_.Resolve(Napi::Number::New(Env(), number_));
    }
  }

 private:
  const std::shared_ptr<Native> native_;
  const PoolFunction function_;
  Napi::Promise::Deferred promise_;
  double number_ = 0;
  std::optional<limitree::Error> error_;
};

}  // namespace

std::size_t Policies::number_of(const limitree_level& level) {
  const auto [place, is_new] =
      numbers_.try_emplace(level.policy.data, names_.size());
  // A reload may have changed the unit.
  if (is_new || names_[place->second].unit.data != level.unit.data) {
    place->second = names_.size();
    names_.push_back({level.policy, level.unit});
  }
  return place->second;
}

double* write_decision(const limitree_decision& decision,
                       const limitree_level* levels, Policies* policies,
                       double* to) {
  const std::size_t count =
      levels == nullptr
          ? 0
          : std::min(static_cast<std::size_t>(decision.level_count),
                     kMaxLevels);
  to[kLimit] = number(decision.limit);
  to[kRemaining] = number(decision.remaining);
  to[kRetryAfterNs] = number(decision.retry_after_ns);
  to[kResetAfterNs] = number(decision.reset_after_ns);
  to[kNextAfterNs] = number(decision.next_after_ns);
  to[kBindingResetAfterNs] = number(decision.binding_reset_after_ns);
  to[kBits] = number((decision.limited != 0 ? 1 : 0) |
                     std::int64_t{decision.flags & 0x7fffu} << 1 |
                     std::int64_t{decision.source} << 16);
  to[kLevelCount] = static_cast<double>(count);
  to[kHeld] = number(decision.held);
  to += kDecisionSize;
  for (std::size_t i = 0; i < count; ++i, to += kLevelSize) {
    const limitree_level& level = levels[i];
    to[kPolicy] = static_cast<double>(policies->number_of(level));
    to[kLevelLimit] = number(level.limit);
    to[kLevelRemaining] = number(level.remaining);
    to[kLevelRetryAfterNs] = number(level.retry_after_ns);
    to[kLevelResetAfterNs] = number(level.reset_after_ns);
    to[kLevelNextAfterNs] = number(level.next_after_ns);
    to[kGrowsAfterNs] = number(level.grows_after_ns);
    to[kWindowNs] = number(level.window_ns);
    to[kLevelCost] = number(level.cost);
    to[kLevelBits] = number(level.limited | level.charged << 1 |
                            level.soft << 2 | level.mode << 3);
    to[kPath] = number(level.path);
  }
  return to;
}

Native::Native(Environment& environment, std::shared_ptr<Engine> engine)
    : environment_(environment),
      engine_(std::move(engine)),
      answers_(engine_->answers()),
      is_remote_(engine_->limiter().is_remote()),
      watch_(environment, [this] { run_loop(); }) {
  environment_.add(this);
}

// No answer is pending, and no call can come.  If the thread has ended, this
// was closed before, and the environment may be gone.
Native::~Native() {
  if (is_closed_) return;
  end_client();
  watch_.end();
  environment_.remove(this);
}

void Native::close() {
  if (std::exchange(is_closed_, true)) return;
  environment_.remove(this);
  watch_.end();
  if (pool_calls_ == 0) release();
}

// Destroying the engine answers pending requests.
void Native::release() {
  const std::shared_ptr<Native> keep = shared_from_this();
  end_client();
  engine_.reset();
  deliver(*this, std::exchange(*answers_, {}));
}

void Native::make_room(std::size_t count, std::vector<Answer>* answers) {
  if (answers->capacity() < count) answers->reserve(2 * count);
}

// Runs the loop, and returns what it has answered.
std::vector<Answer> Native::run_engine() {
  std::vector<Answer> next = std::move(spare_);
  make_room(pending_, &next);
  limitree_loop_run(engine_->get());
  return std::exchange(*answers_, std::move(next));
}

void Native::run_loop() {
  const std::shared_ptr<Native> keep = shared_from_this();
  std::vector<Answer> answers;
  try {
    answers = run_engine();
  } catch (const std::bad_alloc&) {  // nothing has run
    return watch_.run_soon();
  }
  deliver_from_loop(*this, answers);
  answers.clear();
  spare_ = std::move(answers);
}

void Native::use_client(Napi::Function wake) {
  has_client_ = true;
  wake_ =
      Napi::ThreadSafeFunction::New(environment_.env(), wake, "limitree", 0, 1);
  wake_.Unref(environment_.env());
  engine_->commands().begin([this] { wake_.NonBlockingCall(); });
}

void Native::end_client() {
  if (!std::exchange(has_client_, false)) return;
  engine_->commands().end();
  // A thread that ends has released it already.
  if (!environment_.is_ending()) wake_.Release();
}

double Native::run_client_loop() {
  if (is_closed_) return -1;
  const std::shared_ptr<Native> keep = shared_from_this();
  std::vector<Answer> answers = run_engine();
  deliver(*this, answers);
  answers.clear();
  spare_ = std::move(answers);
  if (is_closed_) return -1;
  const std::int64_t ns = limitree_loop_until_run(engine_->get());
  return ns < 0 ? -1 : static_cast<double>(ns) / 1e6;
}

void Native::begin_request() {
  if (!has_client_ && !watch_.has_begun()) {
    const char* const wrong = watch_.begin(limitree_loop_fd(engine_->get()));
    if (*wrong != '\0') throw Error(LIMITREE_INTERNAL, {wrong});
    limitree_loop_set_wakeups(engine_->get(), 0);
  }
  make_room(pending_ + 1, answers_.get());
  set_pending(pending_ + 1);
}

void Native::end_pool_call() {
  if (--pool_calls_ == 0 && is_closed_) release();
}

void Native::set_pending(std::size_t count) {
  const bool was_waiting = std::exchange(pending_, count) > 0;
  if (was_waiting == (count > 0)) return;
  watch_.keep_process(count > 0);
  self_ = count > 0 ? shared_from_this() : nullptr;
}

Napi::Promise run_in_pool(Native& native, PoolFunction function) {
  auto* const call = new PoolCall(native, std::move(function));
  const Napi::Promise promise = call->promise();
  call->Queue();  // deletes itself afterwards
  return promise;
}

}  // namespace limitree::node
