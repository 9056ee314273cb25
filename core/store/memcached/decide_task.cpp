#include "store/memcached/decide_task.hpp"

#include "store/memcached/memcached_dialog.hpp"

namespace limitree::memcached {

DecideTask::Step DecideTask::begin(Step step) {
  at_ = 0;
  if (step.kind == Step::Kind::kSend) target_.node = part().node;
  return step;
}

bool DecideTask::accepts(const remote::Outcome& outcome) {
  return responses_of(outcome).size() == part().replies;
}

DecideTask::Step DecideTask::answered(remote::Outcome outcome) {
  const bool ends = decision_.answered(at_, outcome);
  if (is_out_of_time(outcome.failure)) return {};
  if (ends || at_ + 1 == decision_.parts().size()) {
    at_ = 0;  // also if memory runs out
    return begin(decision_.next());
  }
  ++at_;
  target_.node = part().node;
  return {Step::Kind::kSend};
}

}  // namespace limitree::memcached
