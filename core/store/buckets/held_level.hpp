// The functions of MixedLevel for limits that can hold units.

#pragma once

#include <algorithm>
#include <cstdint>

#include "base/demand.hpp"
#include "base/held_bucket.hpp"
#include "base/judge.hpp"
#include "base/plan.hpp"
#include "store/buckets/hold_block.hpp"
#include "store/buckets/mixed_level.hpp"

namespace limitree {

template <typename Place>
Status MixedLevel<Place>::evaluate_holds(const MixedRequest& ask,
                                         const Demand& demand,
                                         const Level& level, Place place) {
  const Limit& limit = *level.limit;
  holds_ = true;
  HeldState state;
  HoldView view;
  HoldBlock block;
  if (cell_ != nullptr && cell_->over_at != 0) {
    if (cell_->has_holds()) {
      log_ = {cell_->log, place.cells.memory().block(cell_->log)};
      block = HoldBlock(log_.block);
    }
    if (block) view = block.view(limit.rate);
    if (limit.algorithm == Algorithm::kGcra) {
      state.tat = Instant(Duration(cell_->start));
    } else {
      state.window = {cell_->started(), block ? block.used()
                                        : cell_->has_log != 0
                                            ? 0
                                            : cell_->units.current};
    }
  }
  HeldBucket bucket(limit, state, view, demand.now);
  const auto start_of = [&](const HeldState& of) {
    return limit.algorithm == Algorithm::kGcra
               ? of.tat.time_since_epoch().count()
               : micros_of(of.window.start);
  };
  const auto edit_of = [&](const HeldBucket& of) {
    const std::uint32_t used = small(of.state().window.units);
    HoldEdit edit;
    if (block && fresh_.link == 0) return block.edit(of, used);
    edit.used = used;
    return edit;
  };
  books_ =
      cell_ != nullptr && demand.operation != Operation::kPeek &&
      is_charged(level.mode) &&
      (bucket.view().first != view.first || bucket.view().end != view.end ||
       bucket.state().window.units != state.window.units);
  if (books_ || bucket.is_ahead()) {
    booked_start_ = start_of(bucket.state());
    booked_ = edit_of(bucket);
  }
  list_holds(ask, bucket.view(), level);
  Demand own = demand;
  own.reservation.hold = demand.reservation.hold > Duration::zero()
                             ? demand.reservation.hold
                             : limit.rules->hold;
  const std::uint32_t ended = books_ ? view.count - bucket.view().count : 0;
  evaluate_hold(own, &bucket);
  usage_.ended = ended;
  const bool may_write =
      usage_.changes &&
      (is_about_hold(demand.operation) ||
       (demand.operation != Operation::kPeek && is_charged(level.mode)));
  if (!may_write) return {};
  if (bucket.added().units > 0 && !(block && block.can_edit(bucket))) {
    Status status = prepare_holds(ask, bucket, limit.rate, place);
    if (!status.ok()) return status;
  }
  charged_start_ = start_of(bucket.state());
  charged_ = edit_of(bucket);
  return {};
}

// Lists what is held, for a plan that asks for it.
template <typename Place>
void MixedLevel<Place>::list_holds(const MixedRequest& ask,
                                   const HoldView& view, const Level& level) {
  if (ask.plan->found == nullptr) return;
  const auto index = static_cast<std::size_t>(&level - &ask.plan->levels[0]);
  for (std::uint32_t i = view.first; i < view.end; ++i) {
    const Hold& hold = view.holds[i];
    if (hold.units == 0) continue;
    ask.plan->found->push_back(
        {index, hold.id, hold.units, wait_until(hold.end, ask.now)});
  }
}

// Sets the usage of a bucket with holds, and takes or charges what is asked.
template <typename Place>
void MixedLevel<Place>::evaluate_hold(const Demand& demand,
                                      HeldBucket* bucket) {
  if (!is_about_hold(demand.operation)) {
    const bool takes = demand.operation == Operation::kReserve ||
                       demand.operation == Operation::kPeek;
    const bool is_full = takes && bucket->holds() && demand.cost > 0 &&
                         bucket->view().count >= kMaxHolds;
    if (!is_full) {
      usage_ = limitree::evaluate(demand, bucket);
      return;
    }
    // Denied until the next hold ends.
    Demand look = demand;
    look.operation = Operation::kAuthorize;
    look.cost = 0;
    usage_ = limitree::evaluate(look, bucket);
    const Hold& next = bucket->view().holds[bucket->view().first];
    usage_.fits = false;
    usage_.crowded = true;
    usage_.never = demand.cost > demand.ceiling;
    usage_.left.fits_after =
        usage_.never
            ? kNever
            : std::max(wait_until(bucket->until(demand.room()), demand.now),
                       wait_until(next.end, demand.now));
    usage_.charged = usage_.left;
    return;
  }
  const std::uint32_t place = bucket->view().find(demand.reservation.id);
  if (place != HoldView::kNone && demand.operation == Operation::kSettle) {
    bucket->settle(place, demand.cost);
  } else if (place != HoldView::kNone) {
    bucket->extend(place, saturating_add(demand.now, demand.reservation.hold));
  }
  Demand look = demand;
  look.operation = Operation::kAuthorize;
  look.cost = 0;
  usage_ = limitree::evaluate(look, bucket);
  usage_.changes = place != HoldView::kNone;
}

// Makes a block with the holds of `bucket`.
template <typename Place>
Status MixedLevel<Place>::prepare_holds(const MixedRequest& ask,
                                        const HeldBucket& bucket,
                                        const Rate& rate, Place place) {
  const HoldView& view = bucket.view();
  // A damaged file may count less than fill() copies.
  const auto held =
      std::count_if(view.holds + view.first, view.holds + view.end,
                    [](const Hold& one) { return one.units > 0; });
  const std::uint32_t count = static_cast<std::uint32_t>(held) + 1;
  Status status = place.make_log(
      HoldBlock::room_for(std::max(count + count / 4, 4U)), ask, &fresh_);
  if (!status.ok()) return status;
  // Making it may have evicted others, but nothing of this request.
  HoldBlock(fresh_.block)
      .fill(bucket, small(bucket.state().window.units), rate);
  return {};
}

// Sets next_ to the cell after the charge, or without it.  Returns whether
// anything is left in it.
template <typename Place>
bool MixedLevel<Place>::finish_holds(const Level& level, Instant now) {
  const Usage::Side& side = side_of(level, level.verdict.charged);
  const Limit& limit = *level.limit;
  const HoldEdit& edit = level.verdict.charged ? charged_ : booked_;
  if (side.full_after == Duration::zero()) return false;
  next_.tag = tag_;
  next_.start = level.verdict.charged ? charged_start_ : booked_start_;
  next_.set_over(ceil_micros(saturating_add(now, side.full_after)));
  next_.set_used(side.used, limit.cost, ceiling_);
  // A small block is kept for the next hold, and a damaged one is not.
  const bool keeps =
      HoldBlock(log_.block) && (edit.count > 0 || edit.head.room <= kKeptRoom);
  const std::uint64_t link = fresh_.link != 0 ? fresh_.link
                             : keeps          ? log_.link
                                              : 0;
  next_.has_log = next_.has_tail = link != 0 ? 1 : 0;
  if (link != 0) {
    next_.log = link;
  } else {
    // Not 0 in a bucket of GCRA, which has no units.
    next_.units = {limit.algorithm == Algorithm::kGcra ? 1 : edit.used, 0};
  }
  return true;
}

}  // namespace limitree
