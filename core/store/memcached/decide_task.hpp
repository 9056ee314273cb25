// A Decision for the drivers: its parts are sent one after the other.

#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.hpp"
#include "store/memcached/decision.hpp"
#include "store/memcached/memcached_dialog.hpp"
#include "store/remote/route/task.hpp"

namespace limitree::memcached {

class DecideTask final : public remote::Task {
 public:
  // Everything must outlive it.
  DecideTask(Plan* plan, Decision::Kind kind, const Context& context)
      : decision_(plan, kind, context) {}

  // The second time after wants_turn().
  Step start() override {
    return begin(decision_.wants_turn() ? decision_.take_turn()
                                        : decision_.start());
  }
  bool accepts(const remote::Outcome& outcome) override {
    return responses_of(outcome).size() == part().replies;
  }
  Step answered(remote::Outcome outcome) override {
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
  Step resumed() override { return begin(decision_.resumed()); }
  std::string_view bytes() const override { return part().bytes; }
  std::size_t replies() const override { return part().replies; }
  const remote::Target& target() const override { return target_; }

  // See Decision.
  bool wants_turn() const { return decision_.wants_turn(); }
  std::size_t turn() const { return decision_.turn(); }
  void give_up() { decision_.give_up(); }
  Status take_status() { return decision_.take_status(); }

 private:
  const Decision::Part& part() const { return decision_.parts()[at_]; }
  Step begin(Step step) {
    at_ = 0;
    if (step.kind == Step::Kind::kSend) target_.node = part().node;
    return step;
  }

  Decision decision_;
  std::size_t at_ = 0;  // the part under way
  remote::Target target_;
};

}  // namespace limitree::memcached
