// A Decision for the drivers: its parts are sent one after the other.

#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.hpp"
#include "store/memcached/decision.hpp"
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
  bool accepts(const remote::Outcome& outcome) override;
  Step answered(remote::Outcome outcome) override;
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
  Step begin(Step step);

  Decision decision_;
  std::size_t at_ = 0;  // the part under way
  remote::Target target_;
};

// Whether memcached can answer a line with any of `outcome`.
bool is_sound(const remote::Outcome& outcome);

}  // namespace limitree::memcached
