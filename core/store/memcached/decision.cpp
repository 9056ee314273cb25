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

// Makes the parts of a phase, one for each server.  If memory runs out, those
// of the last one stay.
Decision::Step Decision::send(Phase phase) {
  std::vector<Part> parts;
  for (std::uint32_t i = 0; i < families_.size(); ++i) {
    const FamilyItem& family = families_[i];
    const bool takes_part =
        phase == Phase::kUndo ? family.written && !family.lost
        : phase == Phase::kRead
            ? !family.written
            : family.write != FamilyItem::Write::kNone && !family.written;
    if (!takes_part) continue;
    auto part = std::ranges::find(parts, family.node, &Part::node);
    if (part == parts.end()) {
      part = parts.insert(part, {family.node, {}, 0, {}});
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
  phase_ = phase;
  conflict_ = false;
  if (parts.empty()) return next();
  parts_ = std::move(parts);
  return {Step::Kind::kSend};
}

bool Decision::answered(std::size_t part, const Outcome& outcome) {
  if (parts_.empty()) {  // there was no memory to begin
    status_ = failed(outcome, "memcached");
    return true;
  }
  const std::vector<std::uint32_t>& families = parts_[part].families;
  if (outcome.fate == Outcome::Fate::kAnswered) {
    Responses& responses = responses_of(outcome);
    for (std::size_t i = 0; i < families.size(); ++i) {
      take(&families_[families[i]], &responses[i]);
    }
  }
  if (outcome.failure != Failure::kNone && status_.ok()) {
    status_ = failed(outcome, parts_[part].node->endpoint().text());
  }
  return phase_ != Phase::kUndo && (conflict_ || !status_.ok());
}

Status Decision::failed(const Outcome& outcome, const std::string& where) {
  const bool is_late =
      attempts_ > 0 && is_out_of_time(outcome.failure) &&
      (phase_ == Phase::kRead || outcome.fate == Outcome::Fate::kNotSent);
  if (is_late) return conflicted();
  Status status = failure_of(outcome, where);
  if (phase_ != Phase::kUndo || status.code() == Code::kStoreProtocol) {
    return status;
  }
  // What is charged may stay so.
  Error error = status.error();
  error.code = Code::kStoreTimeout;
  return Status(std::move(error));
}

bool Decision::has_charged() const {
  return std::ranges::any_of(families_, &FamilyItem::written);
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
      family->lost = response->kind == Answer::kExists;
      family->written = family->lost || response->kind == Answer::kError;
      break;
  }
}

// Whether a request that starts again takes back what it has written.
bool Decision::takes_back() const {
  return kind_ == Kind::kDecide && is_asked(plan_->operation);
}

Decision::Step Decision::next() {
  switch (phase_) {
    case Phase::kRead:
      return status_.ok() ? decide() : Step{};
    case Phase::kWrite:
      is_done_ = status_.ok() && !conflict_;
      if (is_done_) return {};
      return takes_back() ? send(Phase::kUndo) : settle();
    case Phase::kUndo:
      return settle();
  }
  return {};
}

Decision::Step Decision::resumed() { return read(); }

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

Status Decision::take_status() {
  return status_.ok() && !is_done_ ? conflicted() : std::move(status_);
}

// Only a conflict that has charged nothing has that name.
Status Decision::conflicted() const {
  return Status(Error{
      Code::kStoreTimeout,
      {families_[contested_].key + ": other callers have changed it " +
       std::to_string(attempts_) + " times"},
      failure_name(has_charged() ? Failure::kTimeout : Failure::kConflict)});
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
    // What an earlier attempt has charged for units may not be as much.
    // Nor does a clock that is behind know when a window ends for others.
    if (has_charged() || (now_ > read_at_ && !plan_->all_plain())) {
      plan_->lease.most = 0;
    }
    status_ = decide_levels();
  }
  for (FamilyItem& family : families_) {
    if (status_.ok() && !family.written) status_ = save(&family);
  }
  return status_.ok() ? send(Phase::kWrite) : Step{};
}

}  // namespace limitree::memcached
