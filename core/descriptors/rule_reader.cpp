#include "descriptors/rule_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/limit_rules.hpp"
#include "text/number.hpp"
#include "text/problems.hpp"
#include "text/rule_maps.hpp"
#include "text/yaml.hpp"

namespace limitree {

namespace {

// Reads what stands after `rate_limit:`.
class RateLimitReader {
 public:
  RateLimitReader(std::size_t map, FieldReader* reader)
      : map_(map), mark_(reader->node(map).mark), reader_(*reader) {}

  Rule read();

 private:
  void take(const YamlField& field);
  void read_replaces(const YamlField& field);
  void take_own(const YamlField& field);
  void check_length();
  void check_multiplier(LimitUnit unit);
  void check_unlimited();
  void check_concurrent();
  void check_replaces();
  Rule make();
  Rule make_extended();
  Rule make_concurrent();
  void add(Mark mark, std::string what) { reader_.add(mark, std::move(what)); }
  static bool is_given(const Value& value) {
    return value.text.data() != nullptr;
  }

  const std::size_t map_;
  const Mark mark_;  // of the mapping
  FieldReader& reader_;

  Value unit_;
  bool unit_refused_ = false;  // a mistake about it has been reported
  Value name_;
  std::uint32_t multiplier_ = 1;  // of the unit
  std::optional<Mark> multiplier_mark_;
  std::uint32_t requests_ = 0;
  std::optional<Mark> requests_mark_;
  bool unlimited_ = false;
  std::vector<Value> replaces_;
  // What envoyproxy/ratelimit does not know.
  Value algorithm_;
  Value period_;
  Value burst_;
  RuleFields fields_;  // the overrun, and what is held
};

void RateLimitReader::take(const YamlField& field) {
  const std::string_view key = field.key.text;
  if (key == "unit") {
    unit_.mark = reader_.node(field.value).mark;
    unit_refused_ = !reader_.read_text(field, &unit_);
  } else if (key == "unit_multiplier") {
    multiplier_mark_ = reader_.node(field.value).mark;
    reader_.read_number(field, &multiplier_);
  } else if (key == "requests_per_unit") {
    requests_mark_ = reader_.node(field.value).mark;
    reader_.read_number(field, &requests_);
  } else if (key == "unlimited") {
    reader_.read_bool(field, &unlimited_);
  } else if (key == "name") {
    reader_.read_text(field, &name_);
  } else if (key == "replaces") {
    read_replaces(field);
  } else {
    take_own(field);
  }
}

// Takes what envoyproxy/ratelimit does not know.
void RateLimitReader::take_own(const YamlField& field) {
  const std::string_view key = field.key.text;
  if (key == "overrun") {
    read_overrun(reader_.document(), field.value, field.key.mark, &fields_,
                 &reader_.problems());
    return;
  }
  if (key == "lease") {
    read_lease(reader_.document(), field.value, &fields_, &reader_.problems());
    return;
  }
  Value value;
  const bool good = reader_.read_text(field, &value);
  if (!good && key == "concurrent") unit_refused_ = true;  // it needs none
  if (!is_given(value)) return;
  if (key == "algorithm") {
    algorithm_ = value;
  } else if (key == "period") {
    period_ = value;
  } else if (key == "burst") {
    burst_ = value;
  } else {
    (key == "concurrent" ? fields_.concurrent
     : key == "hold"     ? fields_.hold
                         : fields_.unsettled) = value;
  }
}

void RateLimitReader::read_replaces(const YamlField& field) {
  for (const std::size_t item : reader_.items(field)) {
    Value name{{}, reader_.node(item).mark};
    for (const YamlField& one : reader_.fields(item, KeyPlace::kReplaces)) {
      reader_.read_text(one, &name);
    }
    replaces_.push_back(name);
  }
}

void RateLimitReader::check_unlimited() {
  if (unit_of(unit_.text) != LimitUnit::kUnknown) {
    add(unit_.mark, "should not specify rate limit unit when unlimited");
  }
  const auto refuse = [this](const char* key, Mark mark) {
    add(mark, std::string("should not specify ") + key + " when unlimited");
  };
  if (multiplier_mark_) refuse("unit_multiplier", *multiplier_mark_);
  if (is_given(period_)) refuse("period", period_.mark);
  if (is_given(algorithm_)) refuse("algorithm", algorithm_.mark);
  if (is_given(burst_)) refuse("burst", burst_.mark);
  if (fields_.overrun) refuse("overrun", *fields_.overrun);
  if (fields_.concurrent) refuse("concurrent", fields_.concurrent->mark);
  if (fields_.hold) refuse("hold", fields_.hold->mark);
  if (fields_.unsettled) refuse("unsettled", fields_.unsettled->mark);
  if (fields_.lease) refuse("lease", fields_.lease->mark);
}

void RateLimitReader::check_concurrent() {
  const auto refuse = [this](const char* key, Mark mark) {
    add(mark, std::string("concurrent and ") + key + " exclude each other");
  };
  if (is_given(unit_)) refuse("unit", unit_.mark);
  if (multiplier_mark_) refuse("unit_multiplier", *multiplier_mark_);
  if (requests_mark_) refuse("requests_per_unit", *requests_mark_);
  if (is_given(period_)) refuse("period", period_.mark);
}

void RateLimitReader::check_length() {
  if (unlimited_) {
    check_unlimited();
  } else if (fields_.concurrent) {
    check_concurrent();
  } else if (is_given(period_)) {
    if (is_given(unit_)) {
      add(period_.mark, "unit and period exclude each other");
    }
    if (multiplier_mark_) {
      add(*multiplier_mark_, "unit_multiplier and period exclude each other");
    }
  } else if (const LimitUnit unit = unit_of(unit_.text);
             unit != LimitUnit::kUnknown) {
    check_multiplier(unit);
  } else if (!unit_refused_) {
    add(unit_.mark == Mark() ? mark_ : unit_.mark,
        "invalid rate limit unit '" + legible(unit_.text) + "'");
  }
}

void RateLimitReader::check_multiplier(LimitUnit unit) {
  if (unit_length(unit, multiplier_)) return;
  add(*multiplier_mark_,
      multiplier_ == 0 ? "unit_multiplier must be greater than 0, is 0"
                       : "unit_multiplier " + std::to_string(multiplier_) +
                             ": such a window takes more than 100 years");
}

void RateLimitReader::check_replaces() {
  for (const Value& name : replaces_) {
    if (name.text.empty()) {
      add(name.mark, "should not have an empty replaces entry");
    } else if (name.text == name_.text) {
      add(name.mark, "replaces should not contain name of same descriptor");
    }
  }
}

// A rule of what is held at once.
Rule RateLimitReader::make_concurrent() {
  Rule rule;
  if (is_given(algorithm_)) fields_.algorithm = algorithm_;
  if (is_given(burst_)) fields_.burst = burst_.mark;
  apply_rules(fields_, mark_, &rule.limit, &reader_.problems());
  rule.requests_per_unit = static_cast<std::uint32_t>(rule.limit.count);
  rule.limit.suffix = bucket_suffix(rule);
  return rule;
}

// A rule with an algorithm, burst, period, overrun, hold or lease.
Rule RateLimitReader::make_extended() {
  Rule rule;
  rule.unit = unit_of(unit_.text);
  rule.unit_multiplier = multiplier_;
  rule.requests_per_unit = requests_;
  Limit& limit = rule.limit;
  Problems& problems = reader_.problems();
  if (!is_given(period_)) {
    limit.period = *unit_length(rule.unit, multiplier_);
  } else if (const auto period = problems.take(parse_period(period_.text),
                                               period_.mark, "period ")) {
    limit.period = *period;
  } else {
    return rule;
  }
  limit.count = std::max(std::int64_t{requests_}, std::int64_t{1});
  std::int64_t capacity = limit.count;
  if (is_given(burst_)) {
    const auto burst =
        problems.take(parse_integer(burst_.text, 1), burst_.mark, "burst ");
    if (!burst) return rule;
    capacity = *burst;
    fields_.burst = burst_.mark;
  }
  const auto rate =
      problems.take(make_rate(limit.count, limit.period, capacity), mark_);
  if (!rate) return rule;
  limit.rate = *rate;
  fields_.algorithm =
      is_given(algorithm_) ? algorithm_ : Value{"fixed_window", mark_};
  apply_rules(fields_, mark_, &limit, &problems);
  limit.suffix = bucket_suffix(rule);
  return rule;
}

// REQUIRES: no mistake has been reported.
Rule RateLimitReader::make() {
  if (unlimited_) {
    Rule rule;
    rule.unlimited = true;
    return rule;
  }
  if (fields_.concurrent) return make_concurrent();
  const bool extended = is_given(algorithm_) || is_given(period_) ||
                        is_given(burst_) || fields_.overrun || fields_.hold ||
                        fields_.unsettled || fields_.lease;
  return extended ? make_extended()
                  : window_rule(requests_, unit_of(unit_.text), multiplier_);
}

Rule RateLimitReader::read() {
  const std::size_t before = reader_.problems().size();
  for (const YamlField& field : reader_.fields(map_, KeyPlace::kRateLimit)) {
    take(field);
  }
  check_length();
  check_replaces();
  if (reader_.problems().size() > before) return Rule();
  Rule rule = make();
  rule.limit.name = name_.text;
  for (const Value& name : replaces_) rule.replaces.emplace_back(name.text);
  return rule;
}

}  // namespace

Rule read_rule(std::size_t map, FieldReader* reader) {
  return RateLimitReader(map, reader).read();
}

}  // namespace limitree
