#include "descriptors/rule.hpp"

#include <algorithm>

#include "text/number.hpp"
#include "text/problems.hpp"
#include "text/text_table.hpp"

namespace limitree {

namespace {

const UnitTraits* traits_of(LimitUnit unit) {
  for (const UnitTraits& traits : kLimitUnits) {
    if (traits.unit == unit) return &traits;
  }
  return nullptr;
}

Rule make_window_rule(const UnitTraits& traits) {
  Rule rule;
  rule.unit = traits.unit;
  rule.limit = make_counter(1, traits.length);
  rule.limit.suffix = bucket_suffix(rule);
  return rule;
}

// A rule of each unit, whose copies share what is on the heap.
const Rule& pattern_of(LimitUnit unit) {
  static const std::array<Rule, kLimitUnits.size()> rules = [] {
    std::array<Rule, kLimitUnits.size()> made;
    std::ranges::transform(kLimitUnits, made.begin(), make_window_rule);
    return made;
  }();
  return rules[static_cast<std::size_t>(traits_of(unit) - kLimitUnits.data())];
}

// "MINUTE", "10 MINUTE" or "90s"
std::string length_in_words(const Rule& rule) {
  if (rule.unit == LimitUnit::kUnknown) {
    return format_duration(rule.limit.period);
  }
  std::string words = unit_name(rule.unit);
  if (rule.unit_multiplier == 1) return words;
  return std::to_string(rule.unit_multiplier) + ' ' + words;
}

bool is_only_window(const Limit& limit) {
  return limit.algorithm == Algorithm::kFixedWindow &&
         limit.rules->overrun == 0 && !limit.holds() && !limit.is_leased();
}

}  // namespace

const char* unit_name(LimitUnit unit) {
  const UnitTraits* const traits = traits_of(unit);
  return traits == nullptr ? "UNKNOWN" : traits->name;
}

std::optional<Duration> unit_length(LimitUnit unit, std::uint32_t multiplier) {
  const std::chrono::seconds one = traits_of(unit)->length;
  if (multiplier == 0 || multiplier > kMaxBurstOffset / one) {
    return std::nullopt;
  }
  return one * multiplier;
}

LimitUnit unit_of(std::string_view name) {
  const std::string lower = lower_case(name);
  for (const UnitTraits& traits : kLimitUnits) {
    if (lower == lower_case(traits.name)) return traits.unit;
  }
  return LimitUnit::kUnknown;
}

std::optional<LimitUnit> unit_of(std::int32_t number) {
  for (const UnitTraits& traits : kLimitUnits) {
    if (static_cast<std::int32_t>(traits.unit) == number) return traits.unit;
  }
  return std::nullopt;
}

Rule window_rule(std::uint32_t requests, LimitUnit unit,
                 std::uint32_t multiplier) {
  Rule rule = pattern_of(unit);
  if (multiplier != 1) {
    rule.unit_multiplier = multiplier;
    rule.limit = make_counter(1, *unit_length(unit, multiplier));
    rule.limit.suffix = bucket_suffix(rule);
  }
  rule.requests_per_unit = requests;
  Limit& limit = rule.limit;
  const std::int64_t most =
      std::min<std::int64_t>(kMaxUnits, limit.period.count());
  limit.count = std::clamp(std::int64_t{requests}, std::int64_t{1}, most);
  limit.rate = {limit.period / limit.count, limit.count};
  return rule;
}

std::string bucket_suffix(const Rule& rule) {
  // How many are held at once does not depend on a time.
  const bool timed = rule.limit.algorithm != Algorithm::kConcurrent;
  std::string suffix;
  if (timed) {
    const bool one =
        rule.unit != LimitUnit::kUnknown && rule.unit_multiplier == 1;
    suffix = '#' + (one ? lower_case(unit_name(rule.unit))
                        : format_duration(rule.limit.period));
  }
  if (!rule.limit.is_plain()) suffix += traits_of(rule.limit.algorithm).suffix;
  return suffix;
}

std::string rule_in_words(const Rule& rule) {
  std::string words;
  if (rule.unlimited) {
    words = "unlimited";
  } else if (rule.denies_all() || is_only_window(rule.limit)) {
    words = std::to_string(rule.requests_per_unit) + " per " +
            length_in_words(rule);
  } else {
    Limit limit = rule.limit;
    // These two follow from other settings.
    limit.mode = Mode::kEnforce;
    limit.charge = Charge::kAllOrNothing;
    words = limit_in_words(limit);
  }
  if (rule.denies_all()) words += ": denies everything";
  if (!rule.limit.name.empty()) {
    words += ", name " + quote(rule.limit.name.view());
  }
  for (const SharedText& name : rule.replaces) {
    words += ", replaces " + quote(name.view());
  }
  if (rule.shadow_mode) words += ", shadow_mode";
  if (rule.quota_mode) words += ", quota_mode";
  if (rule.detailed_metric) words += ", detailed_metric";
  if (rule.metadata != nullptr) words += ", metadata";
  return words;
}

}  // namespace limitree
