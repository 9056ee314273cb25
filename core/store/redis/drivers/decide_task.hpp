// One request of the limiter as commands: usually a single call of the script.
//
// In a cluster the levels of a plan may lie in several slots.  Then each slot
// is charged by a call of its own, one after the other; when one of them
// denies, those after it are not charged and those before it get back what they
// were charged, except levels that are charged whatever others say: see Charge.
// What they hold is cancelled: settled with a cost of 0.
// So the admitted total never exceeds a limit: what was charged can deny
// another request, but not admit one.  What time may have given back by then
// is not given back again: Plan::charged_at.  Where no slot depends on
// another, a driver of event loops asks all of them at the same time.
//
// Limits of a second that are kept elsewhere are one more slot, or several in a
// cluster.  They are charged first: they deny more often, and what cannot be
// given back wears off soonest.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/inline_vector.hpp"
#include "base/plan.hpp"
#include "base/status.hpp"
#include "store/redis/common/settings.hpp"
#include "store/redis/drivers/retry.hpp"
#include "store/redis/script/call.hpp"
#include "store/remote/route/router.hpp"
#include "store/remote/route/task.hpp"

namespace limitree::redis {

// Where a store keeps a level.
Place place_of(const Plan& plan, const Level& level, const Settings& settings,
               const Router& router);

class DecideTask final : public Task {
 public:
  // Carries out plan->operation.  Everything must outlive the task.
  DecideTask(Plan* plan, const Settings& settings, const Router& router,
             const Now& now);
  // Carries out a part of `whole`: the slot of this number.  No driver runs
  // `whole` itself.  Must live until whole->conclude().
  DecideTask(const DecideTask& whole, std::size_t slot);

  // The number of slots that may be asked at the same time.
  std::size_t parts() const;

  Step start() override;
  bool accepts(const Outcome& outcome) override;
  Step answered(Outcome outcome) override;
  Step resumed() override { return {Step::Kind::kSend}; }
  std::string_view bytes() const override { return bytes_; }
  const Target& target() const override { return retry_.target(); }
  Joinable joinable() const override;

  // Why there are no debts.
  Status take_status() { return std::move(status_); }
  // The same; sets the verdicts of the plan if there are debts.
  Status conclude();

 private:
  // Levels that are decided by one call: a range of order_.
  struct Group {
    Place place;
    std::uint32_t first;
    std::uint32_t count;
    bool allowed = false;  // and all before it: it has counted no denial
    bool charged = false;  // may hold charges that are void if another denies
    Instant at{};          // when it was asked, by the clock of its server
  };
  // In this order.
  enum class FollowUp : std::uint8_t { kRefund, kCancel, kCount };

  void group_levels(const Router& router);
  LevelSet levels_of(const Group& group) const;
  bool denies(const Group& group) const;
  bool any_joint(LevelSet levels) const;
  Step decide_group();
  Step decided();
  Step follow_up();
  bool next_follow_up();
  Step cancel(const Place& place);
  Step send(Operation operation, LevelSet levels, const Place& place);
  Step retry(const Outcome& outcome);
  Step fail(Status status, bool in_time);

  Plan* const plan_;
  const Settings& settings_;
  const Now now_;
  const Operation operation_;

  Usages usages_;                         // of levels that are not plain
  InlineVector<std::uint32_t, 6> order_;  // levels, group after group
  InlineVector<Group, 1> groups_;
  std::size_t group_ = 0;      // the one under way
  bool charged_ = false;       // by the call under way
  Instant at_{};               // its instant
  bool denied_ = false;        // by one of the groups so far, or by the caller
  bool following_up_ = false;  // the call under way does
  FollowUp follow_up_ = FollowUp::kCount;  // of groups_[group_], the last one
  InlineVector<std::uint32_t, 6> due_;     // its levels
  Call call_;
  bool with_text_ = false;  // EVAL rather than EVALSHA
  std::string_view bytes_;
  Retry retry_;
  Status status_;
};

}  // namespace limitree::redis
