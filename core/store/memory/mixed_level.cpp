#include "store/memory/mixed_level.hpp"

#include <algorithm>
#include <utility>

#include "base/calendar.hpp"
#include "base/leaky_step.hpp"

namespace limitree {

namespace {

std::int64_t micros_of(Instant at) {
  return at.time_since_epoch() / kMicrosecond;
}

// Units that count, which fit into 32 bits: see kMaxUnits.
std::uint32_t small(std::int64_t units) {
  return static_cast<std::uint32_t>(units);
}

Log<HeapLog> log_of(HeapLog* entries, const Limit& limit, Instant now) {
  return {entries, limit.period, limit.rules->bucket, now};
}

}  // namespace

Status MixedLevel::evaluate(const Plan& plan, Level* level, std::uint64_t tag,
                            Instant now, BucketTable* buckets,
                            CellShard* cells) {
  const Limit& limit = *level->limit;
  tag_ = tag;
  bucket_ = nullptr;
  cell_ = nullptr;
  fresh_ = nullptr;
  if (limit.is_plain()) {
    bucket_ = buckets->find(tag);
    level->debt = bucket_ == nullptr ? Duration::zero()
                                     : saturating_sub(bucket_->tat, now);
    return {};
  }
  highest_ = highest_ceiling_of(limit);
  ceiling_ = ceiling_of(limit, plan.pressure);
  const Demand demand{plan.operation,      level->cost, ceiling_,
                      limit.rate.capacity, now,         plan.wants_growth,
                      limit.charge};
  level->usage = &usage_;
  switch (limit.algorithm) {
    case Algorithm::kGcra:
      bucket_ = buckets->find(tag);
      evaluate_tat<Overdraft>(demand, limit);
      return {};
    case Algorithm::kLeakyStep:
      bucket_ = buckets->find(tag);
      evaluate_tat<LeakyStep>(demand, limit);
      return {};
    case Algorithm::kFixedWindow:
      cell_ = cells->table.find(tag);
      evaluate_fixed_window(demand, limit);
      return {};
    case Algorithm::kSlidingTail:
      cell_ = cells->table.find(tag);
      evaluate_sliding_tail(demand, limit);
      return {};
    case Algorithm::kSlidingLog:
    case Algorithm::kSlidingWindow:
      cell_ = cells->table.find(tag);
      return evaluate_log(demand, *level, cells);
  }
  return {};
}

template <typename Algorithm>
void MixedLevel::evaluate_tat(const Demand& demand, const Limit& limit) {
  const Instant tat = bucket_ == nullptr ? kLongAgo : bucket_->tat;
  Algorithm bucket(tat, limit.rate.emission_interval, highest_, demand.now);
  usage_ = limitree::evaluate(demand, &bucket);
  tat_ = bucket.state();
}

void MixedLevel::evaluate_fixed_window(const Demand& demand,
                                       const Limit& limit) {
  const Instant start =
      cell_ == nullptr ? Instant() : Instant(cell_->start * kMicrosecond);
  const std::int64_t units = cell_ == nullptr ? 0 : cell_->units.current;
  FixedWindow bucket = fixed_window_of({start, units}, limit, demand.now);
  usage_ = limitree::evaluate(demand, &bucket);
  next_.has_tail = 0;
  next_.start = micros_of(bucket.state().start);
  next_.units = {small(bucket.state().units), 0};
  finish_counts(bucket.over());
}

void MixedLevel::evaluate_sliding_tail(const Demand& demand,
                                       const Limit& limit) {
  const Instant start =
      cell_ == nullptr ? Instant() : Instant(cell_->start * kMicrosecond);
  const Cell::Units units = cell_ == nullptr ? Cell::Units{} : cell_->units;
  SlidingTail bucket({start, units.current, units.previous}, limit.period,
                     limit.rules->round_up, demand.now);
  usage_ = limitree::evaluate(demand, &bucket);
  next_.has_tail = 1;
  next_.start = micros_of(bucket.state().start);
  next_.units = {small(bucket.state().current), small(bucket.state().previous)};
  finish_counts(bucket.over());
}

// Sets what next_ has for every counter; its units are set already.
void MixedLevel::finish_counts(Instant over) {
  next_.tag = tag_;
  next_.has_log = 0;
  next_.set_over(over);
  if (next_.units.current == 0 && next_.units.previous == 0) next_.over_at = 0;
}

Status MixedLevel::evaluate_log(const Demand& demand, const Level& level,
                                CellShard* cells) {
  HeapLog none;
  HeapLog* const entries =
      cell_ != nullptr && cell_->has_log != 0 ? cell_->log : &none;
  const Log<HeapLog> log = log_of(entries, *level.limit, demand.now);
  usage_ = limitree::evaluate(demand, log, &more_);
  const bool charges = demand.operation != Operation::kPeek &&
                       is_charged(level.mode) && more_ > 0;
  if (!charges || !entries->is_full()) return {};
  fresh_ = entries == &none ? HeapLog::make(2, cells->log_bytes)
                            : entries->regrown(log.first());
  if (fresh_ != nullptr) return {};
  return Status(Code::kOutOfMemory, "no memory for a log");
}

void MixedLevel::release() {
  if (fresh_ != nullptr) HeapLog::free(std::exchange(fresh_, nullptr));
}

Instant MixedLevel::new_tat(const Level& level, Instant now) const {
  if (!level.limit->is_plain()) return tat_;
  // Without debt the bucket is gone, even for a clock that steps back.
  return level.verdict.reset_after == Duration::zero()
             ? kLongAgo
             : saturating_add(now, level.verdict.reset_after);
}

// Writes the charge into *cell.
void MixedLevel::write_cell(const Level& level, Instant now, Cell* cell) {
  const Limit& limit = *level.limit;
  next_.set_used(level.usage->charged.used, limit.cost, ceiling_);
  if (traits_of(limit.algorithm).kept == Kept::kCounts) {
    *cell = next_;
    return;
  }
  if (fresh_ != nullptr) {
    if (cell->has_log != 0) HeapLog::free(cell->log);
    cell->log = std::exchange(fresh_, nullptr);
    cell->has_log = 1;
  }
  Log<HeapLog> log = log_of(cell->log, limit, now);
  log.write(more_);
  cell->tag = tag_;
  cell->part = next_.part;
  if (cell->log->size() == 0) return cell->discard();
  const Instant first = (*cell->log)[0].at();
  const Instant last = (*cell->log)[cell->log->size() - 1].at();
  cell->start = micros_of(saturating_add(first, limit.period));
  cell->set_over(saturating_add(last, limit.period));
}

void MixedLevel::update(const Level& level, Instant now) {
  if (bucket_ != nullptr) {
    *bucket_ = Bucket::made(tag_, *level.limit, new_tat(level, now));
  } else {
    write_cell(level, now, cell_);
  }
}

void MixedLevel::hold(const Level& level, Instant now) {
  const Limit& limit = *level.limit;
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
    case Algorithm::kGcra:
    case Algorithm::kLeakyStep:
    case Algorithm::kSlidingLog:
    case Algorithm::kSlidingWindow:
      break;
  }
  update(level, now);
}

bool MixedLevel::insert(const Level& level, Instant now, BucketTable* buckets,
                        CellShard* cells, std::span<const std::uint64_t> keep) {
  if (!is_window(level.limit->algorithm)) {
    const Instant tat = new_tat(level, now);
    if (tat <= now) return false;  // at the end of time, or given back
    return buckets->insert(Bucket::made(tag_, *level.limit, tat), now, keep);
  }
  Cell cell{};
  write_cell(level, now, &cell);
  if (cell.is_over(now)) {
    cell.discard();
    return false;
  }
  return cells->table.insert(cell, now, keep);
}

}  // namespace limitree
