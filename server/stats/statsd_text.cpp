#include "stats/statsd_text.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>

namespace limitree::server {

namespace {

constexpr std::size_t kMaxSamples = 100;

// In both formats, names and tags may not have these in their values.
std::string clean_value(std::string_view value, std::string_view bad) {
  std::string clean(value);
  std::replace_if(
      clean.begin(), clean.end(),
      [&](char one) { return bad.find(one) != bad.npos; }, '_');
  return clean;
}

// Writes `value` with at most `digits` digits after the point.  With 12, the
// share of a billion requests is exact to 1/1000.
std::string decimal(double value, int digits) {
  char text[64];
  auto end = std::to_chars(text, text + sizeof text, value,
                           std::chars_format::fixed, digits)
                 .ptr;
  while (end[-1] == '0') --end;
  if (end[-1] == '.') --end;
  return {text, end};
}

// "0.25|ms|@0.01": a hundred requests took a quarter of a millisecond.
std::string time_value(const TimeSample& sample) {
  std::string text =
      decimal(static_cast<double>(sample.time.count()) / 1e6, 6) + "|ms";
  if (sample.weight > 1) text += "|@" + decimal(1 / sample.weight, 12);
  return text;
}

}  // namespace

StatsdText::StatsdText(const StatsSettings& settings)
    : format_(settings.format),
      tags_(parse_tags("EXTRA_TAGS", settings.extra_tags)) {
  for (Tag& tag : tags_) {
    tag.name = clean_value(tag.name, "|=#\n");
    tag.value = clean_value(tag.value, ".:|\n");
  }
  for (const MogrifierSettings& one : settings.mogrifiers) {
    mogrifiers_.emplace_back(one);
  }
}

TaggedName StatsdText::tagged(std::string_view name) const {
  TaggedName result{std::string(name), tags_};
  for (const Mogrifier& mogrifier : mogrifiers_) {
    if (mogrifier.apply(&result)) break;
  }
  return result;
}

std::string StatsdText::line(std::string_view name,
                             std::string_view value) const {
  std::string text;
  if (format_ == StatsFormat::kDogStatsd) {
    const TaggedName named = tagged(name);
    text.append(clean_value(named.name, ":|\n")).append(":").append(value);
    std::string_view before = "|#";
    for (const Tag& tag : named.tags) {
      text.append(before).append(tag.name).append(":");
      text += clean_value(tag.value, ",|\n");
      before = ",";
    }
  } else {
    text.append(name);
    for (const Tag& tag : tags_) {
      text.append(".__").append(tag.name).append("=").append(tag.value);
    }
    text.append(":").append(value);
  }
  return text + '\n';
}

void StatsdText::write(
    const Snapshot& difference,
    const std::function<void(std::string_view)>& take) const {
  for_each_counter(difference, [&](std::string_view name, std::uint64_t value) {
    if (value != 0) take(line(name, std::to_string(value) + "|c"));
  });
  for (const auto& [name, value] : difference.gauges) {
    take(line(name, std::to_string(value) + "|g"));
  }
  for (const auto& [method, times] : difference.methods) {
    const std::string name = method_name(method, "response_time");
    for (const TimeSample& sample : times.samples(kMaxSamples)) {
      take(line(name, time_value(sample)));
    }
  }
}

}  // namespace limitree::server
