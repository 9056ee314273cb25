#include "text/limit_rules.hpp"

#include <array>
#include <string>
#include <utility>

#include "base/calendar.hpp"
#include "base/hold.hpp"
#include "base/lease.hpp"
#include "base/time.hpp"
#include "text/number.hpp"
#include "text/time_zone.hpp"

namespace limitree {

namespace {

constexpr std::array<std::string_view, 3> kAligns = {"epoch", "first",
                                                     "calendar"};
constexpr std::array<std::string_view, 2> kRounds = {"down", "up"};
constexpr std::array<std::string_view, 2> kDrains = {"continuous", "step"};
constexpr std::array<std::string_view, 2> kUnsettled = {"charge", "free"};
constexpr std::int64_t kDefaultBuckets = 60;

class RuleReader {
 public:
  RuleReader(const RuleFields& fields, Mark mark, Limit* limit,
             Problems* problems)
      : fields_(fields), mark_(mark), limit_(*limit), problems_(*problems) {}

  void run();

 private:
  bool is_window() const { return limitree::is_window(limit_.algorithm); }
  std::string algorithm_text() const {
    if (fields_.concurrent) return "concurrent";
    return fields_.algorithm ? std::string(fields_.algorithm->text) : "gcra";
  }
  void add(Mark mark, std::string what) {
    problems_.add(mark, std::move(what));
  }
  // find_word(), if there is a value.
  std::optional<std::size_t> word(std::string_view key,
                                  const std::optional<Value>& value,
                                  Words known) {
    if (!value) return std::nullopt;
    return find_word(key, *value, known, &problems_);
  }
  bool read_algorithm();
  bool read_concurrent();
  void refuse_others();
  void refuse(bool belongs, std::string_view key,
              const std::optional<Value>& value, std::string_view to);
  void read_align();
  void read_calendar();
  void read_buckets();
  void read_hold();
  void check_hold();
  void read_lease();
  bool may_lease();
  void check_period();
  void check_step();
  void check_units();

  const RuleFields& fields_;
  const Mark mark_;
  Limit& limit_;
  Problems& problems_;
  Rules rules_;
};

// A limit of what is held at once has no other rate.
bool RuleReader::read_concurrent() {
  const Value& most = *fields_.concurrent;
  const std::optional<std::int64_t> count = problems_.take(
      parse_integer(most.text, 1, kMaxHolds), most.mark, "concurrent ");
  limit_.count = count.value_or(1);
  limit_.rate = {Duration(1), limit_.count};
  return count.has_value();
}

// If the algorithm is unknown, no key can be wrong for it.
bool RuleReader::read_algorithm() {
  if (fields_.concurrent) {
    limit_.algorithm = Algorithm::kConcurrent;
    if (!fields_.algorithm) return read_concurrent();
    add(fields_.algorithm->mark, "algorithm and concurrent exclude each other");
    return false;
  }
  const auto known = word("algorithm", fields_.algorithm, kAlgorithmWords);
  if (fields_.algorithm && !known) return false;
  limit_.algorithm = known && *known < kAlgorithms.size()
                         ? kAlgorithms[*known].algorithm
                         : Algorithm::kGcra;
  const bool leaky = limit_.algorithm == Algorithm::kLeakyStep;
  refuse(leaky, "drain", fields_.drain, "leaky_bucket");
  const bool steps = word("drain", fields_.drain, kDrains) == 1;
  if (leaky && !steps) limit_.algorithm = Algorithm::kGcra;
  return true;
}

void RuleReader::refuse(bool belongs, std::string_view key,
                        const std::optional<Value>& value,
                        std::string_view to) {
  if (belongs || !value) return;
  add(value->mark, std::string(key) + " belongs to " + std::string(to) +
                       ", algorithm is " + algorithm_text());
}

void RuleReader::refuse_others() {
  const Algorithm algorithm = limit_.algorithm;
  refuse(algorithm == Algorithm::kFixedWindow, "align", fields_.align,
         "fixed_window");
  refuse(algorithm == Algorithm::kFixedWindow, "timezone", fields_.timezone,
         "fixed_window");
  refuse(algorithm == Algorithm::kSlidingWindow, "buckets", fields_.buckets,
         "sliding_window");
  refuse(algorithm == Algorithm::kSlidingTail, "round", fields_.round,
         "sliding_tail");
  if (is_window() && fields_.burst) {
    add(*fields_.burst, "burst belongs to gcra and leaky_bucket: " +
                            algorithm_text() + " admits its count at once");
  }
  const bool may_hold = algorithm == Algorithm::kGcra ||
                        algorithm == Algorithm::kFixedWindow ||
                        algorithm == Algorithm::kConcurrent;
  refuse(may_hold, "hold", fields_.hold, "gcra, fixed_window and concurrent");
  if (fields_.unsettled && fields_.concurrent) {
    add(fields_.unsettled->mark,
        "unsettled and concurrent exclude each other: a slot is never charged");
  }
  if (fields_.overrun && (fields_.hold || fields_.concurrent)) {
    add(*fields_.overrun, "overrun and holds exclude each other");
  }
}

void RuleReader::read_hold() {
  const auto unsettled = word("unsettled", fields_.unsettled, kUnsettled);
  if (!fields_.hold) {
    if (fields_.unsettled) {
      add(fields_.unsettled->mark, "unsettled needs hold");
    } else if (fields_.concurrent) {
      add(mark_,
          "concurrent needs hold: after that time, the slot of a process that "
          "died is free");
    }
    return;
  }
  const std::optional<Duration> hold = problems_.take(
      parse_duration(fields_.hold->text), fields_.hold->mark, "hold ");
  if (!hold) return;
  if (*hold <= Duration::zero() || *hold > kMaxHold) {
    add(fields_.hold->mark, "hold must be from 1ns to " +
                                format_duration(kMaxHold) + ", is " +
                                format_duration(*hold));
    return;
  }
  rules_.hold = *hold;
  rules_.frees = unsettled == 1 || limit_.algorithm == Algorithm::kConcurrent;
  if (limit_.algorithm == Algorithm::kConcurrent) limit_.period = *hold;
}

void RuleReader::check_hold() {
  if (!fields_.hold || rules_.align != Align::kFirst) return;
  add(fields_.hold->mark, "hold and \"align: first\" exclude each other");
}

// Whether its units can be leased at all.
bool RuleReader::may_lease() {
  const Mark mark = fields_.lease->mark;
  const std::size_t before = problems_.size();
  const Algorithm algorithm = limit_.algorithm;
  const bool window = algorithm == Algorithm::kFixedWindow;
  refuse(window || algorithm == Algorithm::kGcra, "lease", fields_.lease,
         "gcra and fixed_window");
  if (fields_.hold) add(mark, "lease and hold exclude each other");
  if (fields_.overrun) add(mark, "lease and overrun exclude each other");
  if (limit_.charge != Charge::kAllOrNothing) {
    add(mark, "lease needs \"charge: all_or_nothing\"");
  }
  if (fields_.ahead && window) add(*fields_.ahead, "ahead belongs to gcra");
  if (algorithm == Algorithm::kGcra && limit_.rate.capacity < 2) {
    add(mark, "lease needs a burst of 2 at least: it takes one of them");
  }
  if (algorithm == Algorithm::kGcra &&
      limit_.rate.burst_offset() > kMaxLeasedOffset) {
    add(mark, "lease is for buckets that fill within " +
                  format_duration(kMaxLeasedOffset) + ", this one takes " +
                  format_duration(limit_.rate.burst_offset()));
  }
  return problems_.size() == before;
}

// The capacity of a window stays: what is leased ends with it.
void RuleReader::read_lease() {
  if (!fields_.lease || !may_lease()) return;
  const Mark mark = fields_.lease->mark;
  const std::optional<Duration> lease =
      problems_.take(parse_duration(fields_.lease->text), mark, "lease ");
  if (!lease) return;
  const bool window = is_window();
  const Duration most = window_of(limit_) / 2;
  if (*lease < kMinLease || *lease > most) {
    add(mark,
        "lease must be from " + format_duration(kMinLease) + " to " +
            format_duration(most) + ", half of " +
            (window ? "the period" : "the time that the bucket fills in") +
            ", is " + format_duration(*lease));
    return;
  }
  limit_.lease = *lease;
  limit_.denies_ahead = fields_.ahead.has_value();
  if (window) return;
  limit_.rate.capacity = leased_capacity(limit_.rate, *lease);
}

void RuleReader::read_align() {
  const auto align = word("align", fields_.align, kAligns);
  rules_.align = static_cast<Align>(align.value_or(0));
  const bool calendar = rules_.align == Align::kCalendar;
  if (fields_.timezone && !calendar) {
    add(fields_.timezone->mark, "timezone needs \"align: calendar\"");
  }
  if (calendar) read_calendar();
}

void RuleReader::read_calendar() {
  Calendar::Unit unit = Calendar::Unit::kMonth;
  if (!fields_.is_month) {
    unit = Calendar::Unit::kDay;
    if (limit_.period == std::chrono::weeks(1)) {
      unit = Calendar::Unit::kWeek;
    } else if (limit_.period != std::chrono::days(1)) {
      add(fields_.align->mark,
          "align: calendar needs a period of a day, a week or a month, is " +
              format_duration(limit_.period));
    }
  }
  const std::string_view zone =
      fields_.timezone ? fields_.timezone->text : "UTC";
  // Nothing is wrong with UTC.
  std::optional<ZoneOffsets> offsets =
      problems_.take(shared_time_zone(zone),
                     fields_.timezone.value_or(Value()).mark, "timezone ");
  if (!offsets) return;
  rules_.calendar = std::make_shared<const Calendar>(std::string(zone), unit,
                                                     *std::move(offsets));
}

void RuleReader::read_buckets() {
  std::optional<std::int64_t> buckets = kDefaultBuckets;
  if (fields_.buckets) {
    buckets = problems_.take(
        parse_integer(fields_.buckets->text, 1, kMaxWindowBuckets),
        fields_.buckets->mark, "buckets ");
  }
  if (!buckets) return;
  // Rounded up, so that there are never more buckets.
  rules_.bucket =
      kMicrosecond * mul_div_up(limit_.period / kMicrosecond, 1, *buckets);
}

void RuleReader::check_period() {
  if (limit_.period % kMicrosecond != Duration::zero()) {
    add(mark_, "period must be in whole microseconds for " + algorithm_text() +
                   ", is " + format_duration(limit_.period));
  }
}

void RuleReader::check_step() {
  Duration& tick = limit_.rate.emission_interval;
  const Duration stated = tick;
  tick -= tick % kMicrosecond;
  if (tick == Duration::zero()) {
    add(mark_, "a step, which is period / count, must not be shorter than 1us");
    tick = kMicrosecond;
  } else if (limit_.period - tick * limit_.count > limit_.period / 50) {
    add(mark_, "a step, which is period / count, is in whole microseconds: " +
                   format_duration(tick) + " instead of " +
                   format_duration(stated) +
                   " would let more than 2 % too many pass");
  }
}

// Checks that Redis's scripts, and a log, can hold the numbers.
void RuleReader::check_units() {
  const bool log = limit_.algorithm == Algorithm::kSlidingLog;
  const std::int64_t most = log ? kMaxLogUnits : kMaxUnits;
  const std::int64_t capacity = limit_.rate.capacity;
  const std::int64_t units =
      capacity <= most ? capacity * (100 + rules_.overrun) / 100 : capacity;
  if (units > most) {
    add(mark_, (log ? "sliding_log keeps an instant for each unit: "
                : fields_.overrun ? "with its overrun "
                                  : "") +
                   std::string(is_window() ? "count" : "the capacity") +
                   " must not exceed " + std::to_string(most) + ", is " +
                   std::to_string(units));
  } else if (fields_.overrun &&
             units > kMaxBurstOffset / limit_.rate.emission_interval) {
    add(*fields_.overrun,
        "a bucket with that overrun takes more than 100 years to fill");
  }
}

void RuleReader::run() {
  if (!read_algorithm()) return;
  refuse_others();
  switch (limit_.algorithm) {
    case Algorithm::kFixedWindow:
      read_align();
      break;
    case Algorithm::kSlidingWindow:
      read_buckets();
      break;
    case Algorithm::kSlidingTail:
      rules_.round_up = word("round", fields_.round, kRounds) == 1;
      break;
    case Algorithm::kLeakyStep:
      check_step();
      break;
    case Algorithm::kGcra:
    case Algorithm::kSlidingLog:
    case Algorithm::kConcurrent:
      break;
  }
  read_hold();
  check_hold();
  read_lease();
  rules_.overrun = fields_.percent;
  rules_.overrun_when_idle = fields_.when_idle;
  if (limit_.algorithm == Algorithm::kGcra && !fields_.overrun &&
      !fields_.hold) {
    return;
  }
  if (is_window() && !fields_.concurrent) check_period();
  check_units();
  limit_.rules = std::make_shared<const Rules>(std::move(rules_));
}

}  // namespace

void apply_rules(const RuleFields& fields, Mark mark, Limit* limit,
                 Problems* problems) {
  RuleReader(fields, mark, limit, problems).run();
}

}  // namespace limitree
