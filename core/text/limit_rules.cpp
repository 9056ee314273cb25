#include "text/limit_rules.hpp"

#include <array>
#include <string>
#include <utility>

#include "base/calendar.hpp"
#include "base/time.hpp"
#include "text/number.hpp"
#include "text/problems.hpp"
#include "text/time_zone.hpp"

namespace limitree {

namespace {

constexpr std::array<std::string_view, 3> kAligns = {"epoch", "first",
                                                     "calendar"};
constexpr std::array<std::string_view, 2> kRounds = {"down", "up"};
constexpr std::array<std::string_view, 2> kDrains = {"continuous", "step"};
constexpr std::array<std::string_view, 1> kWhens = {"idle"};
constexpr std::array<std::string_view, 2> kOverrunKeys = {"percent", "when"};
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
    return fields_.algorithm ? std::string(fields_.algorithm->text) : "gcra";
  }
  void add(Mark mark, std::string what) {
    problems_.add(mark, std::move(what));
  }
  // Returns the index of `value` in `known`, or nothing.  Reports an unknown
  // value.
  std::optional<std::size_t> word(std::string_view key,
                                  const std::optional<Value>& value,
                                  Words known);
  bool read_algorithm();
  void refuse_others();
  void refuse(bool belongs, std::string_view key,
              const std::optional<Value>& value, std::string_view to);
  void read_align();
  void read_calendar();
  void read_buckets();
  void check_period();
  void check_step();
  void check_units();

  const RuleFields& fields_;
  const Mark mark_;
  Limit& limit_;
  Problems& problems_;
  Rules rules_;
};

std::optional<std::size_t> RuleReader::word(std::string_view key,
                                            const std::optional<Value>& value,
                                            Words known) {
  if (!value) return std::nullopt;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i] == value->text) return i;
  }
  add(value->mark, unknown_word(key, value->text, known));
  return std::nullopt;
}

// Without a known algorithm, no key can be called wrong for it.
bool RuleReader::read_algorithm() {
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
  Result<std::vector<ZoneOffset>> offsets = load_time_zone(zone);
  if (!offsets.ok()) {
    add(fields_.timezone->mark,
        "timezone " + offsets.status().error().messages.front());
    return;
  }
  rules_.calendar = std::make_shared<const Calendar>(
      std::string(zone), unit, std::move(offsets.value()));
}

void RuleReader::read_buckets() {
  std::int64_t buckets = kDefaultBuckets;
  if (fields_.buckets) {
    Result<std::int64_t> number = parse_integer(fields_.buckets->text);
    if (!number.ok()) {
      add(fields_.buckets->mark,
          "buckets " + number.status().error().messages.front());
      return;
    }
    buckets = number.value();
    if (buckets < 1 || buckets > kMaxWindowBuckets) {
      add(fields_.buckets->mark, "buckets must be 1 to " +
                                     std::to_string(kMaxWindowBuckets) +
                                     ", is " + std::to_string(buckets));
      return;
    }
  }
  // Rounded up, so that there are never more buckets.
  rules_.bucket =
      kMicrosecond * mul_div_up(limit_.period / kMicrosecond, 1, buckets);
}

void RuleReader::check_period() {
  if (limit_.period % kMicrosecond != Duration::zero()) {
    add(mark_, "period must be in whole microseconds for " + algorithm_text() +
                   ", is " + format_duration(limit_.period));
  }
}

void RuleReader::check_step() {
  Duration& tick = limit_.rate.emission_interval;
  tick -= tick % kMicrosecond;
  if (tick > Duration::zero()) return;
  add(mark_, "a step, which is period / count, must not be shorter than 1us");
  tick = kMicrosecond;
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
      break;
  }
  rules_.overrun = fields_.percent;
  rules_.overrun_when_idle = fields_.when_idle;
  if (limit_.algorithm == Algorithm::kGcra && !fields_.overrun) return;
  if (is_window()) check_period();
  check_units();
  limit_.rules = std::make_shared<const Rules>(std::move(rules_));
}

}  // namespace

bool read_overrun(const YamlDocument& document, std::size_t map, Mark mark,
                  RuleFields* fields, Problems* problems) {
  const YamlNode& node = document[map];
  if (node.kind == YamlNode::Kind::kRefused) return false;
  if (node.kind != YamlNode::Kind::kMapping) {
    problems->add(node.mark,
                  "overrun must be a mapping such as {percent: 20}, is " +
                      document.describe(node));
    return false;
  }
  fields->overrun = mark;
  bool good = true;
  bool percent = false;
  const auto refuse = [&](Mark at, std::string what) {
    problems->add(at, std::move(what));
    good = false;
  };
  for (std::size_t key = map + 1; key < node.end;) {
    const YamlNode& name = document[key];
    const YamlNode& value = document[name.end];
    key = value.end;
    if (name.kind != YamlNode::Kind::kScalar) continue;
    const std::string_view text = document.text(name);
    if (!contains(kOverrunKeys, text)) {
      refuse(name.mark, unknown_word("key of overrun", text, kOverrunKeys));
      continue;
    }
    const std::optional<Value> scalar =
        read_scalar(document, value,
                    std::string(text) + " must be a " +
                        (text == "when" ? "word" : "whole number"),
                    problems);
    if (!scalar) {
      good = false;
    } else if (text == "when") {
      fields->when_idle = true;
      if (!contains(kWhens, scalar->text)) {
        refuse(scalar->mark, unknown_word("when", scalar->text, kWhens));
      }
    } else if (Result<std::int64_t> number = parse_integer(scalar->text);
               !number.ok()) {
      refuse(scalar->mark,
             "percent " + number.status().error().messages.front());
    } else if (number.value() < 1 || number.value() > kMaxOverrun) {
      refuse(scalar->mark, "percent must be 1 to " +
                               std::to_string(kMaxOverrun) + ", is " +
                               std::to_string(number.value()));
    } else {
      fields->percent = number.value();
    }
    percent |= text == "percent";
  }
  if (!percent) refuse(node.mark, "overrun needs percent");
  return good;
}

void apply_rules(const RuleFields& fields, Mark mark, Limit* limit,
                 Problems* problems) {
  RuleReader(fields, mark, limit, problems).run();
}

}  // namespace limitree
