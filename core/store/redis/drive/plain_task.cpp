#include "store/redis/drive/plain_task.hpp"

namespace limitree::redis {

Task::Step PlainTask::start() { return next(); }

Task::Step PlainTask::next() {
  if (at_ == commands_.size()) return {};
  retry_.begin(commands_[at_].slot);
  return {Step::Kind::kSend};
}

Task::Step PlainTask::answered(Outcome outcome) {
  if (outcome.failure == Failure::kNone) {
    ++at_;
    return next();
  }
  if (const auto again = retry_.after(outcome)) return *again;
  status_ = retry_.failure(outcome, settings_);
  return {};
}

}  // namespace limitree::redis
