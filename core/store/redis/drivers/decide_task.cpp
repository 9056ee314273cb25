#include "store/redis/drivers/decide_task.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/judge.hpp"

namespace limitree::redis {

namespace {

// The unit of a descriptor, or the period of a limit.
bool is_per_second(const Limit& limit) {
  return limit.period > Duration::zero() &&
         limit.period <= std::chrono::seconds(1);
}

}  // namespace

Place place_of(const Plan& plan, const Level& level, const Settings& settings,
               const Router& router) {
  Place place;
  place.per_second =
      settings.per_second != nullptr && is_per_second(*level.limit);
  if (settings.of(place.per_second).url.topology == Topology::kCluster) {
    place.slot = router.slot_of(address_of(plan, level, settings.prefix).key);
  }
  return place;
}

DecideTask::DecideTask(Plan* plan, const Settings& settings,
                       const Router& router, const Now& now)
    : plan_(plan),
      settings_(settings),
      now_(now),
      operation_(plan->operation),
      denied_(plan->denied) {
  if (!plan->all_plain()) usages_.resize(plan->levels.size());
  group_levels(router);
  // A slot that denies cannot get back what others have leased.
  plan->lease.granted = 0;
  if (groups_.size() > 1) plan->lease.most = 0;
}

DecideTask::DecideTask(const DecideTask& whole, std::size_t slot)
    : plan_(whole.plan_),
      settings_(whole.settings_),
      now_(whole.now_),
      operation_(whole.operation_),
      denied_(whole.denied_) {
  usages_.resize(whole.usages_.size());
  const Group& group = whole.groups_[slot];
  for (const std::uint32_t i : whole.levels_of(group)) order_.push_back(i);
  groups_.push_back({group.place, 0, group.count});
}

// A store that is not a cluster has one slot, and nothing is sorted.
void DecideTask::group_levels(const Router& router) {
  const auto count = static_cast<std::uint32_t>(plan_->levels.size());
  for (std::uint32_t i = 0; i < count; ++i) order_.push_back(i);
  if (settings_.url.topology != Topology::kCluster &&
      settings_.per_second == nullptr) {
    groups_.push_back({{}, 0, count});
    return;
  }
  InlineVector<Place, 6> places;
  for (const Level& level : plan_->levels) {
    places.push_back(place_of(*plan_, level, settings_, router));
  }
  const auto rank = [&places](std::uint32_t i) {
    return std::pair(!places[i].per_second, places[i].slot);
  };
  std::stable_sort(
      order_.begin(), order_.end(),
      [&](std::uint32_t a, std::uint32_t b) { return rank(a) < rank(b); });
  for (std::uint32_t i = 0; i < count; ++i) {
    const Place place = places[order_[i]];
    if (groups_.empty() || groups_.back().place != place) {
      groups_.push_back({place, i, 0});
    }
    ++groups_.back().count;
  }
}

LevelSet DecideTask::levels_of(const Group& group) const {
  return {order_.data() + group.first, group.count};
}

// Only what is asked for can be denied, and then given back where it was
// charged.
std::size_t DecideTask::parts() const {
  const bool depend = groups_.size() > 1 && is_asked(operation_) &&
                      any_joint({order_.data(), order_.size()});
  return depend ? 1 : groups_.size();
}

Task::Step DecideTask::start() { return decide_group(); }

Task::Step DecideTask::decide_group() {
  if (group_ == groups_.size()) return denied_ ? follow_up() : Step{};
  const Group& group = groups_[group_];
  return send(operation_, levels_of(group), group.place);
}

Task::Step DecideTask::send(Operation operation, LevelSet levels,
                            const Place& place) {
  plan_->operation = operation;
  plan_->denied = denied_ && any_joint(levels);
  const bool takes_back = following_up_ && operation == Operation::kRefund;
  if (takes_back) plan_->charged_at = groups_[group_].at;
  Status status = call_.encode(*plan_, levels, settings_.prefix, now_);
  plan_->charged_at.reset();
  plan_->operation = operation_;
  if (!status.ok()) return fail(std::move(status), true);
  retry_.begin(place);
  with_text_ = false;
  bytes_ = call_.evalsha();
  return {Step::Kind::kSend};
}

// In a cluster the keys of several callers lie in several slots.
Joinable DecideTask::joinable() const {
  if (with_text_ || !settings_.share_calls ||
      settings_.of(target().per_second).url.topology == Topology::kCluster) {
    return {};
  }
  return call_.joinable();
}

Task::Step DecideTask::answered(Outcome outcome) {
  if (outcome.failure != Failure::kNone) return retry(outcome);
  return following_up_ ? follow_up() : decided();
}

// The levels' debts are kept as they are read.
bool DecideTask::accepts(const Outcome& outcome) {
  if (following_up_) return true;
  return Call::read_reply(redis_reply(outcome), plan_,
                          levels_of(groups_[group_]), &charged_, &usages_, &at_)
      .ok();
}

// Whether the levels of `group`, with the debts that were read, let the request
// through.
bool DecideTask::denies(const Group& group) const {
  for (const std::uint32_t i : levels_of(group)) {
    const Level& level = plan_->levels[i];
    if (counts(level.mode) && !fits(level)) return true;
  }
  return false;
}

// Whether the answers of other slots matter to these levels.
bool DecideTask::any_joint(LevelSet levels) const {
  return std::ranges::any_of(levels, [this](std::uint32_t i) {
    return is_joint(plan_->levels[i].limit->charge);
  });
}

Task::Step DecideTask::decided() {
  Group& group = groups_[group_++];
  if (is_asked(operation_)) {
    denied_ |= denies(group);
    group.allowed = !denied_;
    group.charged = charged_ && !denied_;
    group.at = at_;
  }
  return decide_group();
}

// Groups that were asked before one denied the request get back what they were
// charged, and count the denial: one call for each of these, where there is
// something to do.
Task::Step DecideTask::follow_up() {
  following_up_ = true;
  while (next_follow_up()) {
    const Group& group = groups_[group_];
    const auto is_due = [&](const Level& level) {
      if (!fits(level) || !is_joint(level.limit->charge)) return false;
      const bool holds =
          operation_ == Operation::kReserve && level.limit->holds();
      const bool counts = counts_denials(level.limit->charge);
      switch (follow_up_) {
        case FollowUp::kRefund:
          return group.charged && !holds && !counts;
        case FollowUp::kCancel:
          return group.charged && holds;
        case FollowUp::kCount:
          return group.allowed && denied_ && counts && is_charged(level.mode);
      }
      return false;
    };
    due_.clear();
    for (const std::uint32_t i : levels_of(group)) {
      if (is_due(plan_->levels[i])) due_.push_back(i);
    }
    if (due_.empty()) continue;
    if (follow_up_ == FollowUp::kCancel) return cancel(group.place);
    return send(follow_up_ == FollowUp::kRefund ? Operation::kRefund
                                                : Operation::kAuthorize,
                {due_.data(), due_.size()}, group.place);
  }
  return {};
}

// Goes on to what else there is for a group, or to the group before it.
bool DecideTask::next_follow_up() {
  if (follow_up_ != FollowUp::kCount) {
    follow_up_ = static_cast<FollowUp>(static_cast<int>(follow_up_) + 1);
    return true;
  }
  if (group_ == 0) return false;
  --group_;
  follow_up_ = FollowUp::kRefund;
  return true;
}

// Settles what is held with nothing used.
Task::Step DecideTask::cancel(const Place& place) {
  // send() may go on to others.
  const std::vector<std::uint32_t> levels(due_.begin(), due_.end());
  std::vector<std::int64_t> costs;
  for (const std::uint32_t i : levels) {
    costs.push_back(std::exchange(plan_->levels[i].cost, 0));
  }
  const Step step = send(Operation::kSettle, levels, place);
  for (std::size_t k = 0; k < costs.size(); ++k) {
    plan_->levels[levels[k]].cost = costs[k];
  }
  return step;
}

// Charges that cannot be given back wear off by themselves: the request is
// still denied.  An error stays an error, even if all could be given back.
Task::Step DecideTask::fail(Status status, bool in_time) {
  if (status_.ok() && !following_up_) status_ = std::move(status);
  return in_time ? follow_up() : Step{};
}

Status DecideTask::conclude() {
  if (status_.ok()) {
    judge(operation_, plan_->levels.data(), plan_->levels.size(), denied_);
  }
  return take_status();
}

Task::Step DecideTask::retry(const Outcome& outcome) {
  if (outcome.failure == Failure::kNoScript && !with_text_ &&
      retry_.may_repeat()) {
    with_text_ = true;
    bytes_ = call_.eval();
    return {Step::Kind::kSend};
  }
  if (const auto again = retry_.after(outcome)) return *again;
  // Nothing more may be sent when the deadline has passed.
  return fail(retry_.failure(outcome, settings_),
              !is_out_of_time(outcome.failure));
}

}  // namespace limitree::redis
