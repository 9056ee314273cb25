#include "store/memcached/decision.hpp"

#include <algorithm>
#include <functional>
#include <random>
#include <utility>

#include "store/entropy.hpp"
#include "store/memcached/memcached_dialog.hpp"
#include "store/remote/drivers/attempt.hpp"

namespace limitree::memcached {

using remote::Failure;
using remote::Outcome;

namespace {

// Between two attempts.  Twice as long each time, because there may be as many
// others.
constexpr std::int64_t kFirstPauseNs = 100'000;
constexpr std::int32_t kMostDoublings = 5;

// Between two looks for the first servers.
constexpr Duration kLookPause = 2 * kMillisecond;

Duration pause_after(std::int32_t attempt) {
  thread_local std::minstd_rand random{
      static_cast<std::uint32_t>(random_word())};
  const std::int64_t longest = kFirstPauseNs
                               << std::min(attempt, kMostDoublings);
  return Duration(std::uniform_int_distribution<std::int64_t>(longest / 8,
                                                              longest)(random));
}

}  // namespace

Status no_server(const std::string& why) {
  return Status(Error{Code::kStoreUnavailable,
                      {"memcached: " + why},
                      remote::failure_name(Failure::kResolve)});
}

Decision::Decision(Plan* plan, Kind kind, const Context& context)
    : plan_(plan), kind_(kind), context_(context) {
  make_families();
}

Decision::~Decision() = default;

void Decision::make_families() {
  const auto count = static_cast<std::uint32_t>(plan_->levels.size());
  std::vector<std::uint32_t> levels(count);
  for (std::uint32_t i = 0; i < count; ++i) levels[i] = i;
  const remote::Families families(*plan_, levels);
  order_.assign(families.levels().begin(), families.levels().end());
  std::uint32_t first = 0;
  for (const remote::Families::Member& member : families.members()) {
    FamilyItem& item = families_.emplace_back();
    std::string key;
    remote::append_key(*plan_, member.family, context_.settings.prefix, &key);
    item.key = item_key(std::move(key), context_.settings.prefix);
    item.first = first;
    item.levels = member.levels;
    first += member.levels;
  }
  // All callers write in one order: then one of them is always the first.
  if (families_.size() > 1) std::ranges::sort(families_, {}, &FamilyItem::key);
}

const std::vector<Decision::Part>& Decision::parts() const {
  return refund_ != nullptr ? refund_->parts() : parts_;
}

Decision::Step Decision::start() { return read(); }

Decision::Step Decision::read() {
  if (find_servers()) return send(Phase::kRead);
  std::string why;
  const bool is_awaited = context_.servers.is_awaited(&why);
  status_ = no_server(why);  // if there is no time left
  if (!is_awaited) return {};
  context_.servers.look(steady_now());
  return {Step::Kind::kPause, kLookPause};
}

// A request stays with the servers that it has begun with.
bool Decision::find_servers() {
  if (families_.front().node != nullptr) return true;
  for (FamilyItem& family : families_) {
    family.node = context_.servers.of(family.key);
    if (family.node == nullptr) return false;
  }
  status_ = {};
  return true;
}

// Makes the parts of a phase, one for each server.
Decision::Step Decision::send(Phase phase) {
  phase_ = phase;
  conflict_ = false;
  parts_.clear();
  for (std::uint32_t i = 0; i < families_.size(); ++i) {
    const FamilyItem& family = families_[i];
    const bool takes_part =
        phase == Phase::kUndo ? family.written
        : phase == Phase::kRead
            ? !family.written
            : family.write != FamilyItem::Write::kNone && !family.written;
    if (!takes_part) continue;
    auto part = std::ranges::find(parts_, family.node, &Part::node);
    if (part == parts_.end()) {
      part = parts_.insert(part, {family.node, {}, 0, {}});
    }
    ++part->replies;
    part->families.push_back(i);
    switch (phase) {
      case Phase::kRead:
        family.append_get(&part->bytes);
        break;
      case Phase::kWrite:
        family.append_write(families_.size() > 1, &part->bytes);
        break;
      case Phase::kUndo:
        family.append_undo(&part->bytes);
        break;
    }
  }
  return parts_.empty() ? next() : Step{Step::Kind::kSend};
}

bool Decision::answered(std::size_t part, const Outcome& outcome) {
  if (refund_ != nullptr) return refund_->answered(part, outcome);
  in_time_ &= !is_out_of_time(outcome.failure);
  const std::vector<std::uint32_t>& families = parts_[part].families;
  if (outcome.fate == Outcome::Fate::kAnswered) {
    Responses& responses = responses_of(outcome);
    for (std::size_t i = 0; i < families.size(); ++i) {
      take(&families_[families[i]], &responses[i]);
    }
  }
  if (outcome.failure != Failure::kNone && phase_ != Phase::kUndo &&
      status_.ok()) {
    const std::string where = parts_[part].node->endpoint().text();
    const bool is_late =
        attempts_ > 0 && !in_time_ &&
        (phase_ == Phase::kRead || outcome.fate == Outcome::Fate::kNotSent);
    status_ = is_late ? conflicted() : failure_of(outcome, where);
  }
  return phase_ != Phase::kUndo && (conflict_ || !status_.ok());
}

// Takes the response to the line of a family.
void Decision::take(FamilyItem* family, Response* response) {
  using Answer = Response::Kind;
  switch (phase_) {
    case Phase::kRead:
      family->exists = response->kind == Answer::kValue;
      family->cas = response->cas;
      family->bytes = std::move(response->text);
      break;
    case Phase::kWrite:
      family->written = response->kind == Answer::kDone;
      family->written_cas = response->cas;
      if (!family->written && response->kind != Answer::kError) {
        conflict_ = true;
        contested_ = static_cast<std::uint32_t>(family - families_.data());
      }
      break;
    case Phase::kUndo:
      // What has been evicted by now is full again.
      if (response->kind == Answer::kExists) {
        const auto index =
            static_cast<std::uint32_t>(family - families_.data());
        debts_.push_back({index, Operation::kRefund});
        if (plan_->operation == Operation::kReserve) {
          debts_.push_back({index, Operation::kSettle});
        }
      }
      break;
  }
}

// Whether a request that starts again takes back what it has written.
bool Decision::takes_back() const {
  return kind_ == Kind::kDecide && is_asked(plan_->operation);
}

Decision::Step Decision::next() {
  if (refund_ != nullptr) {
    const Step step = refund_->next();
    return step.kind == Step::Kind::kDone ? refund() : step;
  }
  switch (phase_) {
    case Phase::kRead:
      return status_.ok() ? decide() : Step{};
    case Phase::kWrite:
      if (status_.ok() && !conflict_) return {};
      return takes_back() && in_time_ ? send(Phase::kUndo) : settle();
    case Phase::kUndo:
      break;
  }
  // What could not be undone stays charged.
  for (FamilyItem& family : families_) family.written = false;
  return refund();
}

Decision::Step Decision::resumed() {
  return refund_ != nullptr ? refund_->resumed() : read();
}

// Gives back what could not be undone, one debt after the other.
Decision::Step Decision::refund() {
  refund_.reset();
  while (!debts_.empty() && in_time_) {
    make_refund(debts_.back());
    debts_.pop_back();
    if (refund_plan_->levels.empty()) continue;
    refund_ =
        std::make_unique<Decision>(refund_plan_.get(), Kind::kDecide, context_);
    refund_->has_turn_ = true;
    const Step step = refund_->start();
    if (step.kind != Step::Kind::kDone) return step;
    refund_.reset();
  }
  return settle();
}

// What was charged by the attempt that is given up; what was held is settled
// with nothing used.
void Decision::make_refund(const Debt& debt) {
  const FamilyItem& family = families_[debt.family];
  const bool cancels = debt.operation == Operation::kSettle;
  refund_plan_ = std::make_unique<Plan>(debt.operation);
  refund_plan_->reservation = plan_->reservation;
  for (const Segment& segment : plan_->segments) {
    refund_plan_->segments.push_back(segment);
  }
  for (std::uint32_t i = 0; i < family.levels; ++i) {
    const Level& level = plan_->levels[order_[family.first + i]];
    const bool held =
        plan_->operation == Operation::kReserve && level.limit->holds();
    if (!level.verdict.charged || held != cancels) continue;
    refund_plan_->add_level(level.limit, level.first, level.depth,
                            cancels ? 0 : level.cost);
    refund_plan_->levels.back().again = level.again;
  }
}

// Ends a request that has failed, and starts the others again.
Decision::Step Decision::settle() {
  if (!status_.ok()) return {};
  const Duration pause = pause_after(attempts_++);
  if (has_turn_) return {Step::Kind::kPause, pause};
  wants_turn_ = true;
  return {};
}

std::size_t Decision::turn() const {
  return std::hash<std::string>()(families_[contested_].key);
}

Decision::Step Decision::take_turn() {
  wants_turn_ = false;
  has_turn_ = true;
  return read();
}

Status Decision::conflicted() const {
  return Status(
      Error{Code::kStoreTimeout,
            {families_[contested_].key + ": other callers have changed it " +
             std::to_string(attempts_) + " times"},
            failure_name(Failure::kConflict)});
}

Decision::Step Decision::decide() {
  read_at_ = now_ = context_.clock.now();
  writer_ = context_.writer;
  for (FamilyItem& family : families_) {
    status_ = load(&family);
    if (!status_.ok()) return {};
  }
  if (kind_ == Kind::kForget) {
    for (FamilyItem& family : families_) forget_levels(&family);
  } else {
    status_ = decide_levels();
  }
  for (FamilyItem& family : families_) {
    if (status_.ok() && !family.written) status_ = save(&family);
  }
  return status_.ok() ? send(Phase::kWrite) : Step{};
}

}  // namespace limitree::memcached
