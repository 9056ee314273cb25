#include "native.hpp"

#include <utility>

#include "delivery.hpp"

namespace limitree::node {

Native::Native(Environment& environment, std::shared_ptr<Engine> engine)
    : environment_(environment),
      engine_(std::move(engine)),
      answers_(engine_->answers()),
      is_remote_(engine_->limiter().is_remote()),
      watch_(environment, [this] { run_loop(); }) {
  environment_.add(this);
}

// No answer is awaited, and no call is possible.  If the thread has ended, this
// was closed before, and the environment may be gone.
Native::~Native() {
  if (is_closed_) return;
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
  engine_.reset();
  deliver(*this, std::exchange(*answers_, {}));
}

void Native::run_loop() {
  const std::shared_ptr<Native> keep = shared_from_this();
  limitree_loop_run(engine_->get());
  std::vector<Answer> answers = std::move(spare_);
  answers.swap(*answers_);
  deliver_from_loop(*this, answers);
  answers.clear();
  spare_ = std::move(answers);
}

const char* Native::begin_request() {
  if (!watch_.has_begun()) {
    const char* const wrong = watch_.begin(limitree_loop_fd(engine_->get()));
    if (*wrong != '\0') return wrong;
    limitree_loop_set_wakeups(engine_->get(), 0);
  }
  set_pending(pending_ + 1);
  return "";
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

}  // namespace limitree::node
