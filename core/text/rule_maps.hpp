// Reads the keys of a limit that may be maps: of an overrun, and of a lease.

#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "text/limit_rules.hpp"
#include "text/number.hpp"
#include "text/problems.hpp"
#include "text/yaml.hpp"

namespace limitree {

inline constexpr std::array<std::string_view, 1> kWhens = {"idle"};
inline constexpr std::array<std::string_view, 2> kOverrunKeys = {"percent",
                                                                 "when"};
inline constexpr std::array<std::string_view, 2> kLeaseKeys = {"time", "ahead"};

// Reads `overrun: {percent: 20, when: idle}`; false if there is a mistake.
inline bool read_overrun(const YamlDocument& document, std::size_t map,
                         Mark mark, RuleFields* fields, Problems* problems) {
  const YamlNode& node = document[map];
  if (!expect_kind(document, node, YamlNode::Kind::kMapping,
                   "overrun must be a mapping such as {percent: 20}",
                   problems)) {
    return false;
  }
  fields->overrun = mark;
  const std::size_t before = problems->size();
  bool percent = false;
  for (const auto& [key, at] : document.fields(map)) {
    if (!contains(kOverrunKeys, key.text)) {
      problems->add(key.mark,
                    unknown_word("key of overrun", key.text, kOverrunKeys));
      continue;
    }
    percent |= key.text == "percent";
    const std::optional<Value> value =
        read_scalar(document, document[at],
                    std::string(key.text) + " must be a " +
                        (key.text == "when" ? "word" : "whole number"),
                    problems);
    if (!value) continue;
    if (key.text == "percent") {
      fields->percent = problems
                            ->take(parse_integer(value->text, 1, kMaxOverrun),
                                   value->mark, "percent ")
                            .value_or(0);
      continue;
    }
    fields->when_idle = true;
    find_word("when", *value, kWhens, problems);
  }
  if (!percent) problems->add(node.mark, "overrun needs percent");
  return problems->size() == before;
}

// Reads `lease: 100ms` or `lease: {time: 100ms, ahead: true}`; false if there
// is a mistake.
inline bool read_lease(const YamlDocument& document, std::size_t value,
                       RuleFields* fields, Problems* problems) {
  constexpr const char* kMust =
      "lease must be a duration, or a mapping such as {time: 100ms}";
  const YamlNode& node = document[value];
  const std::size_t before = problems->size();
  if (node.kind != YamlNode::Kind::kMapping) {
    fields->lease = read_scalar(document, node, kMust, problems);
    return fields->lease.has_value();
  }
  for (const auto& [key, at] : document.fields(value)) {
    if (!contains(kLeaseKeys, key.text)) {
      problems->add(key.mark,
                    unknown_word("key of lease", key.text, kLeaseKeys));
      continue;
    }
    const bool is_time = key.text == "time";
    const std::optional<Value> read = read_scalar(
        document, document[at],
        is_time ? "time must be a duration" : "ahead must be true or false",
        problems);
    if (!read) continue;
    if (is_time) {
      fields->lease = read;
    } else if (read->text == "true") {
      fields->ahead = read->mark;
    } else if (read->text != "false") {
      problems->add(read->mark,
                    "ahead must be true or false, is " + quote(read->text));
    }
  }
  if (problems->size() == before && !fields->lease) {
    problems->add(node.mark, "lease needs time");
  }
  return problems->size() == before;
}

}  // namespace limitree
