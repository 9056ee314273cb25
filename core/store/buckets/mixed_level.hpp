// A level of a request in which some levels are not plain GCRA: evaluated
// first, and written after all levels are judged.
//
// Only the files that instantiate MixedLevel include held_level.hpp, which
// defines its functions for limits that hold units.

#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include "base/calendar.hpp"
#include "base/demand.hpp"
#include "base/held_bucket.hpp"
#include "base/judge.hpp"
#include "base/leaky_step.hpp"
#include "base/plan.hpp"
#include "base/sliding_tail.hpp"
#include "base/unit_log.hpp"
#include "store/buckets/bucket.hpp"
#include "store/buckets/cell.hpp"
#include "store/buckets/hold_block.hpp"
#include "store/buckets/log_block.hpp"
#include "store/buckets/slot_table.hpp"

namespace limitree {

// A log and how its cell names it.
struct LinkedLog {
  std::uint64_t link = 0;     // 0: there is none
  LogBlock* block = nullptr;  // null: there is none
};

// What the levels of a request have in common.
struct MixedRequest {
  Plan* plan;
  Instant now;
  std::span<const std::uint64_t> tags;       // of all levels
  std::span<const std::uint64_t> keep = {};  // see named_tags.hpp
};

// A Place is where the level's bucket would be: the tables of its shard.
//
//   buckets                       a SlotTable of Bucket
//   cells                         a SlotTable of Cell
//   Status make_log(room, ask, &log)   a new LogBlock
//
// The memory of cells knows their logs by links, which are 0 if there is none:
//
//   LogBlock* block(link)         null: none
//   void free_log(link)
//   void write(Cell*, const Cell&, LogBlock*, const LogEdit&)
//                                 sets a cell and changes its log in one step
//   void write(Cell*, const Cell&, const HoldBlock&, const HoldEdit&, rate)
//                                 the same for its holds
template <typename Place>
class MixedLevel {
  // A block of holds that is kept without holds: 1 KiB.
  static constexpr std::uint32_t kKeptRoom = 1024 / sizeof(LogEntry);

 public:
  // Uninitialized until evaluate(): see InlineVector.
  MixedLevel() = default;

  // Finds the bucket of *level, and sets the level's debt or usage.  An error
  // if a log cannot grow; then there is nothing to release.  The result is
  // valid until the next insert into either table.  The usage lives as long as
  // this object.
  Status evaluate(const MixedRequest& ask, Level* level, std::uint64_t tag,
                  Place place);

  // update() writes the charge if the bucket exists; otherwise insert() does,
  // and returns what SlotTable::insert() returns.  REQUIRES: reserve().
  bool exists() const { return bucket_ != nullptr || cell_ != nullptr; }
  void update(const Level& level, Instant now, Place place);
  bool insert(const MixedRequest& ask, const Level& level, Place place);

  // Makes sure of memory for insert().  Returns false if there is none.
  bool reserve(const Level& level, Instant now, Place place) {
    return has_cell(level) ? place.cells.reserve(now)
                           : place.buckets.reserve(now);
  }

  // For a level that is not charged: releases what was prepared.
  void release(Place place) {
    if (fresh_.link != 0) place.cells.memory().free_log(fresh_.link);
    fresh_ = {};
  }
  // Whether its bucket is written as it is: see is_held().
  bool is_kept(const Plan& plan, const Level& level) const {
    return books_ || is_held(plan, level);
  }
  // Then does so.
  void keep(const Plan& plan, const Level& level, Instant now, Place place);

 private:
  // See Demand::alone.
  static bool is_alone(const Plan& plan, const Level& level) {
    return plan.levels.size() == 1 && !plan.denied &&
           is_asked(plan.operation) && is_charged(level.mode) &&
           !counts_denials(level.limit->charge);
  }
  static std::int64_t micros_of(Instant at) {
    return at.time_since_epoch() / kMicrosecond;
  }
  // Units that count, which fit into 32 bits: see kMaxUnits.
  static std::uint32_t small(std::int64_t units) {
    return static_cast<std::uint32_t>(units);
  }
  const LogBlock* block() const {
    static constexpr LogBlock kNoBlock;
    return log_.block == nullptr ? &kNoBlock : log_.block;
  }
  Log<LogEdit> log_of(const Limit& limit, Instant now) {
    return {&edit_, limit.period, limit.rules->bucket, now};
  }
  bool has_cell(const Level& level) const {
    return holds_ || is_window(level.limit->algorithm);
  }

  template <typename Algorithm>
  void evaluate_tat(const Demand& demand, const Limit& limit);
  void evaluate_fixed_window(const Demand& demand, const Limit& limit);
  void evaluate_sliding_tail(const Demand& demand, const Limit& limit);
  void finish_counts(Instant over);
  Status evaluate_log(const MixedRequest& ask, const Demand& demand,
                      const Level& level, Place place);
  Status evaluate_holds(const MixedRequest& ask, const Demand& demand,
                        const Level& level, Place place);
  void evaluate_hold(const Demand& demand, HeldBucket* bucket);
  static void list_holds(const MixedRequest& ask, const HoldView& view,
                         const Level& level);
  Status prepare_holds(const MixedRequest& ask, const HeldBucket& bucket,
                       const Rate& rate, Place place);
  bool finish_holds(const Level& level, Instant now);
  Instant new_tat(const Level& level, Instant now) const;
  bool finish(const Level& level, Instant now);

  Usage usage_;  // made in place: a copy waits for what was just written
  std::uint64_t tag_;
  Bucket* bucket_;     // null: there is none
  Cell* cell_;         // the same
  Instant tat_;        // after the charge
  Cell next_;          // the cell after the charge
  LogEdit edit_;       // of the log
  LinkedLog log_;      // that of the cell
  LinkedLog fresh_;    // to replace it
  std::int64_t more_;  // units for the log: see unit_log.hpp
  bool holds_;         // whether the bucket can have holds
  bool books_;         // whether holds have ended, and that is to be written
  HoldEdit booked_;    // of the holds, if nothing else changes
  HoldEdit charged_;   // the same after the charge
  std::int64_t booked_start_;  // of the cell, in the same two cases
  std::int64_t charged_start_;
  std::int64_t highest_;  // units that the bucket can hold
  std::int64_t ceiling_;  // units that it admits now
};

template <typename Place>
Status MixedLevel<Place>::evaluate(const MixedRequest& ask, Level* level,
                                   std::uint64_t tag, Place place) {
  const Limit& limit = *level->limit;
  const Plan& plan = *ask.plan;
  tag_ = tag;
  bucket_ = nullptr;
  cell_ = nullptr;
  log_ = {};
  fresh_ = {};
  holds_ = false;
  books_ = false;
  if (limit.is_plain()) {
    bucket_ = place.buckets.find(tag);
    level->debt = bucket_ == nullptr ? Duration::zero()
                                     : saturating_sub(bucket_->tat, ask.now);
    return {};
  }
  highest_ = highest_ceiling_of(limit);
  ceiling_ = ceiling_of(limit, plan.pressure);
  const Demand demand{
      plan.operation,      level->cost,      ceiling_,
      limit.rate.capacity, ask.now,          plan.wants_growth,
      limit.charge,        plan.reservation, is_alone(plan, *level)};
  level->usage = &usage_;
  if (limit.holds()) {
    cell_ = place.cells.find(tag);
    return evaluate_holds(ask, demand, *level, place);
  }
  switch (limit.algorithm) {
    case Algorithm::kGcra:
      bucket_ = place.buckets.find(tag);
      evaluate_tat<Overdraft>(demand, limit);
      return {};
    case Algorithm::kLeakyStep:
      bucket_ = place.buckets.find(tag);
      evaluate_tat<LeakyStep>(demand, limit);
      return {};
    case Algorithm::kFixedWindow:
      cell_ = place.cells.find(tag);
      // A reload may have taken `hold` away.
      if (cell_ != nullptr && cell_->has_holds()) {
        return evaluate_holds(ask, demand, *level, place);
      }
      evaluate_fixed_window(demand, limit);
      return {};
    case Algorithm::kSlidingTail:
      cell_ = place.cells.find(tag);
      evaluate_sliding_tail(demand, limit);
      return {};
    case Algorithm::kSlidingLog:
    case Algorithm::kSlidingWindow:
      cell_ = place.cells.find(tag);
      return evaluate_log(ask, demand, *level, place);
    case Algorithm::kConcurrent:
      break;  // always holds
  }
  return {};
}

template <typename Place>
template <typename Algorithm>
void MixedLevel<Place>::evaluate_tat(const Demand& demand, const Limit& limit) {
  const Instant tat = bucket_ == nullptr ? kLongAgo : bucket_->tat;
  Algorithm bucket(tat, limit.rate.emission_interval, highest_, demand.now);
  new (&usage_) Usage(limitree::evaluate(demand, &bucket));
  tat_ = bucket.state();
}

template <typename Place>
[[gnu::always_inline]] inline void MixedLevel<Place>::evaluate_fixed_window(
    const Demand& demand, const Limit& limit) {
  const Instant start = cell_ == nullptr ? Instant() : cell_->started();
  const std::int64_t units = cell_ == nullptr ? 0 : cell_->units.current;
  FixedWindow bucket = fixed_window_of({start, units}, limit, demand.now);
  new (&usage_) Usage(limitree::evaluate(demand, &bucket));
  next_.has_tail = 0;
  next_.start = micros_of(bucket.state().start);
  next_.units = {small(bucket.state().units), 0};
  finish_counts(bucket.over());
}

template <typename Place>
void MixedLevel<Place>::evaluate_sliding_tail(const Demand& demand,
                                              const Limit& limit) {
  const Instant start = cell_ == nullptr ? Instant() : cell_->started();
  const Cell::Units units = cell_ == nullptr ? Cell::Units{} : cell_->units;
  SlidingTail bucket({start, units.current, units.previous}, limit.period,
                     limit.rules->round_up, demand.now);
  new (&usage_) Usage(limitree::evaluate(demand, &bucket));
  next_.has_tail = 1;
  next_.start = micros_of(bucket.state().start);
  next_.units = {small(bucket.state().current), small(bucket.state().previous)};
  finish_counts(bucket.over());
}

// Sets what next_ has for every counter; its units are set already.
template <typename Place>
void MixedLevel<Place>::finish_counts(Instant over) {
  next_.tag = tag_;
  next_.has_log = 0;
  next_.set_over(over);
  if (next_.units.current == 0 && next_.units.previous == 0) next_.over_at = 0;
}

template <typename Place>
Status MixedLevel<Place>::evaluate_log(const MixedRequest& ask,
                                       const Demand& demand, const Level& level,
                                       Place place) {
  if (cell_ != nullptr && cell_->has_log != 0) {
    log_ = {cell_->log, place.cells.memory().block(cell_->log)};
  }
  edit_ = LogEdit(block());
  const Log<LogEdit> log = log_of(*level.limit, demand.now);
  new (&usage_) Usage(limitree::evaluate(demand, log, &more_));
  const bool charges = demand.operation != Operation::kPeek &&
                       is_charged(level.mode) && more_ > 0;
  if (!charges || !edit_.is_full()) return {};
  // A larger log with the entries that count, or a smaller one if most have
  // left.
  const auto left = static_cast<std::uint32_t>(edit_.size() - log.first());
  Status status = place.make_log(left + left / 4 + 2, ask, &fresh_);
  if (!status.ok()) return status;
  fresh_.block->take(*block(), log.first());
  edit_ = LogEdit(fresh_.block);
  return {};
}

template <typename Place>
Instant MixedLevel<Place>::new_tat(const Level& level, Instant now) const {
  if (!level.limit->is_plain()) return tat_;
  // Without debt the bucket is gone, even for a clock that steps back.
  return level.verdict.reset_after == Duration::zero()
             ? kLongAgo
             : saturating_add(now, level.verdict.reset_after);
}

// Sets next_ and edit_ to the cell and its log after the charge.  Returns
// whether anything is left in them.
template <typename Place>
bool MixedLevel<Place>::finish(const Level& level, Instant now) {
  const Limit& limit = *level.limit;
  if (holds_) return finish_holds(level, now);
  next_.set_used(level.usage->charged.used, limit.cost, ceiling_);
  if (traits_of(limit.algorithm).kept == Kept::kCounts) return true;
  Log<LogEdit> log = log_of(limit, now);
  log.write(more_);
  if (edit_.size() == 0) return false;
  next_.tag = tag_;
  next_.has_tail = 0;
  next_.has_log = 1;
  next_.log = fresh_.link != 0 ? fresh_.link : log_.link;
  next_.start = micros_of(saturating_add(edit_[0].at(), limit.period));
  next_.set_over(saturating_add(edit_[edit_.size() - 1].at(), limit.period));
  return true;
}

template <typename Place>
void MixedLevel<Place>::update(const Level& level, Instant now, Place place) {
  if (bucket_ != nullptr) {
    *bucket_ = Bucket::made(tag_, *level.limit, new_tat(level, now));
    return;
  }
  auto& memory = place.cells.memory();
  if (!finish(level, now)) {
    release(place);
    memory.discard(cell_);
  } else if (next_.has_log != 0 && fresh_.link == 0) {
    if (holds_) {
      memory.write(cell_, next_, HoldBlock(log_.block),
                   level.verdict.charged ? charged_ : booked_,
                   level.limit->rate);
    } else {
      memory.write(cell_, next_, log_.block, edit_);
    }
  } else {
    // Nobody else sees the new block before the cell names it.
    if (fresh_.link != 0 && !holds_) edit_.apply(fresh_.block);
    memory.write(cell_, next_);
    fresh_ = {};
    if (log_.link != 0) memory.free_log(log_.link);
  }
}

template <typename Place>
void MixedLevel<Place>::keep(const Plan& plan, const Level& level, Instant now,
                             Place place) {
  const Limit& limit = *level.limit;
  if (!is_kept(plan, level)) return;
  if (holds_ || limit.is_plain()) return update(level, now, place);
  const Demand nothing{Operation::kPeek, 0, highest_, limit.rate.capacity, now};
  more_ = 0;
  usage_.charged = usage_.left;
  switch (limit.algorithm) {
    case Algorithm::kFixedWindow:
      evaluate_fixed_window(nothing, limit);
      break;
    case Algorithm::kSlidingTail:
      evaluate_sliding_tail(nothing, limit);
      break;
    case Algorithm::kSlidingLog:
    case Algorithm::kSlidingWindow:
      edit_ = LogEdit(block());  // not of the larger one, which was released
      break;
    case Algorithm::kGcra:
      evaluate_tat<Overdraft>(nothing, limit);
      break;
    case Algorithm::kLeakyStep:
      evaluate_tat<LeakyStep>(nothing, limit);
      break;
    case Algorithm::kConcurrent:
      break;  // always holds
  }
  update(level, now, place);
}

template <typename Place>
bool MixedLevel<Place>::insert(const MixedRequest& ask, const Level& level,
                               Place place) {
  if (!has_cell(level)) {
    const Instant tat = new_tat(level, ask.now);
    // At the end of time, or given back.
    if (tat <= ask.now) return false;
    return place.buckets.insert(Bucket::made(tag_, *level.limit, tat), ask.now,
                                ask.keep);
  }
  if (!finish(level, ask.now) || next_.is_over(ask.now)) {
    release(place);
    return false;
  }
  if (fresh_.link != 0 && !holds_) edit_.apply(fresh_.block);
  fresh_ = {};
  return place.cells.insert(next_, ask.now, ask.keep);
}

}  // namespace limitree
