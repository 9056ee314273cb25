#include "descriptors/read_rule.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "text/limit_rules.hpp"
#include "text/number.hpp"

namespace limitree {

namespace {

class RuleReader {
 public:
  RuleReader(std::size_t map, FieldReader* reader)
      : map_(map), mark_(reader->node(map).mark), reader_(*reader) {}

  Rule read();

 private:
  void take(const Field& field);
  void read_replaces(const Field& field);
  void check_length();
  void check_unlimited();
  void check_replaces();
  Rule make();
  Rule make_extended();
  void add(Mark mark, std::string what) { reader_.add(mark, std::move(what)); }
  static bool is_given(const Value& value) {
    return value.text.data() != nullptr;
  }

  const std::size_t map_;
  const Mark mark_;  // of the mapping
  FieldReader& reader_;

  Value unit_;
  bool unit_refused_ = false;  // a mistake in it has been reported
  Value name_;
  std::uint32_t requests_ = 0;
  bool unlimited_ = false;
  std::vector<Value> replaces_;
  // What envoyproxy/ratelimit does not know.
  Value algorithm_;
  Value period_;
  Value burst_;
  RuleFields fields_;  // the overrun
};

void RuleReader::take(const Field& field) {
  const std::string_view key = field.key.text;
  if (key == "unit") {
    unit_.mark = reader_.node(field.value).mark;
    unit_refused_ = !reader_.read_text(field, &unit_);
  } else if (key == "requests_per_unit") {
    reader_.read_number(field, &requests_);
  } else if (key == "unlimited") {
    reader_.read_bool(field, &unlimited_);
  } else if (key == "name") {
    reader_.read_text(field, &name_);
  } else if (key == "replaces") {
    read_replaces(field);
  } else if (key == "algorithm") {
    reader_.read_text(field, &algorithm_);
  } else if (key == "period") {
    reader_.read_text(field, &period_);
  } else if (key == "burst") {
    reader_.read_text(field, &burst_);
  } else {
    read_overrun(reader_.document(), field.value, field.key.mark, &fields_,
                 &reader_.problems());
  }
}

void RuleReader::read_replaces(const Field& field) {
  reader_.read_list(field, [this](std::size_t item) {
    Value name{{}, reader_.node(item).mark};
    reader_.read_mapping(item, KeyPlace::kReplaces, [&](const Field& one) {
      reader_.read_text(one, &name);
    });
    replaces_.push_back(name);
  });
}

void RuleReader::check_unlimited() {
  if (unit_of(unit_.text) != LimitUnit::kUnknown) {
    add(unit_.mark, "should not specify rate limit unit when unlimited");
  }
  const auto refuse = [this](const char* key, Mark mark) {
    add(mark, std::string("should not specify ") + key + " when unlimited");
  };
  if (is_given(period_)) refuse("period", period_.mark);
  if (is_given(algorithm_)) refuse("algorithm", algorithm_.mark);
  if (is_given(burst_)) refuse("burst", burst_.mark);
  if (fields_.overrun) refuse("overrun", *fields_.overrun);
}

void RuleReader::check_length() {
  if (unlimited_) {
    check_unlimited();
  } else if (is_given(period_)) {
    if (is_given(unit_)) {
      add(period_.mark, "unit and period exclude each other");
    }
  } else if (!unit_refused_ && unit_of(unit_.text) == LimitUnit::kUnknown) {
    add(unit_.mark == Mark() ? mark_ : unit_.mark,
        "invalid rate limit unit '" + legible(unit_.text) + "'");
  }
}

void RuleReader::check_replaces() {
  for (const Value& name : replaces_) {
    if (name.text.empty()) {
      add(name.mark, "should not have an empty replaces entry");
    } else if (name.text == name_.text) {
      add(name.mark, "replaces should not contain name of same descriptor");
    }
  }
}

// A rule with an algorithm, burst, period or overrun.
Rule RuleReader::make_extended() {
  Rule rule;
  rule.unit = unit_of(unit_.text);
  rule.requests_per_unit = requests_;
  Limit& limit = rule.limit;
  if (!is_given(period_)) {
    limit.period = unit_length(rule.unit);
  } else {
    Result<Duration> period = parse_period(period_.text);
    if (!period.ok()) {
      add(period_.mark, "period " + period.status().error().messages.front());
      return rule;
    }
    limit.period = period.value();
  }
  limit.count = std::max(std::int64_t{requests_}, std::int64_t{1});
  std::int64_t capacity = limit.count;
  if (is_given(burst_)) {
    Result<std::int64_t> burst = parse_integer(burst_.text, 1);
    if (!burst.ok()) {
      add(burst_.mark, "burst " + burst.status().error().messages.front());
      return rule;
    }
    capacity = burst.value();
    fields_.burst = burst_.mark;
  }
  Result<Rate> rate = make_rate(limit.count, limit.period, capacity);
  if (!rate.ok()) {
    add(mark_, rate.status().error().messages.front());
    return rule;
  }
  limit.rate = rate.value();
  fields_.algorithm =
      is_given(algorithm_) ? algorithm_ : Value{"fixed_window", mark_};
  apply_rules(fields_, mark_, &limit, &reader_.problems());
  limit.suffix = bucket_suffix(rule);
  return rule;
}

// REQUIRES: no mistake has been reported.
Rule RuleReader::make() {
  if (unlimited_) {
    Rule rule;
    rule.unlimited = true;
    return rule;
  }
  const bool extended = is_given(algorithm_) || is_given(period_) ||
                        is_given(burst_) || fields_.overrun;
  return extended ? make_extended()
                  : window_rule(requests_, unit_of(unit_.text));
}

Rule RuleReader::read() {
  const std::size_t before = reader_.problems().size();
  reader_.read_mapping(map_, KeyPlace::kRateLimit,
                       [this](const Field& field) { take(field); });
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
  return RuleReader(map, reader).read();
}

}  // namespace limitree
