#include "descriptors/metadata.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace limitree {

namespace {

using Kind = YamlNode::Kind;
using BoolWords = std::array<std::string_view, 11>;

constexpr BoolWords kTrue = {"true", "True", "TRUE", "yes", "Yes", "YES",
                             "on",   "On",   "ON",   "y",   "Y"};
constexpr BoolWords kFalse = {"false", "False", "FALSE", "no", "No", "NO",
                              "off",   "Off",   "OFF",   "n",  "N"};

bool is_one_of(const BoolWords& words, std::string_view text) {
  return std::ranges::find(words, text) != words.end();
}

// Takes digits off the front of *text; returns how many.
std::size_t take_digits(std::string_view* text) {
  const std::size_t end =
      std::min(text->find_first_not_of("0123456789"), text->size());
  text->remove_prefix(end);
  return end;
}

// Takes `c`, or `other`, off the front of *text if it is there.
bool take(char c, char other, std::string_view* text) {
  if (!text->starts_with(c) && !text->starts_with(other)) return false;
  text->remove_prefix(1);
  return true;
}

PlainKind number_kind(std::string_view text) {
  take('-', '+', &text);
  const std::size_t whole = take_digits(&text);
  if (whole > 0 && text.empty()) return PlainKind::kInteger;
  const std::size_t decimals = take('.', '.', &text) ? take_digits(&text) : 0;
  if (whole + decimals == 0) return PlainKind::kText;
  if (take('e', 'E', &text)) {
    take('-', '+', &text);
    if (take_digits(&text) == 0) return PlainKind::kText;
  }
  return text.empty() ? PlainKind::kDecimal : PlainKind::kText;
}

// Whether `text` is a number in JSON, too.
bool is_json_number(std::string_view text) {
  take('-', '-', &text);
  if (text.starts_with('0') && text.size() > 1 &&
      text.find_first_of(".eE") != 1) {
    return false;
  }
  const std::size_t point = text.find('.');
  if (take_digits(&text) == 0) return false;
  return point == text.npos ||
         (text.size() > 1 && text[1] >= '0' && text[1] <= '9');
}

// Readers of the metadata keep numbers as doubles.
bool is_in_range(std::string_view text) {
  double number = 0;
  return std::from_chars(text.data(), text.data() + text.size(), number).ec ==
         std::errc();
}

Metadata scalar_value(const YamlDocument& document, const YamlNode& node,
                      Problems* problems) {
  std::string text(document.text(node));
  switch (plain_kind(document, node)) {
    case PlainKind::kNull:
      return {};
    case PlainKind::kBool:
      text = *parse_bool(text) ? "true" : "false";
      return {Metadata::Kind::kBool, "", std::move(text), {}};
    case PlainKind::kInteger:
    case PlainKind::kDecimal:
      if (!is_json_number(text)) break;
      if (!is_in_range(text)) {
        problems->add(node.mark, "error parsing metadata: the number " +
                                     document.describe(node) +
                                     " is out of range");
      }
      return {Metadata::Kind::kNumber, "", std::move(text), {}};
    case PlainKind::kText:
      break;
  }
  return {Metadata::Kind::kText, "", std::move(text), {}};
}

// Nesting is bounded by kMaxYamlDepth.
Metadata value_at(const YamlDocument& document, std::size_t index,
                  Problems* problems) {
  const YamlNode& node = document[index];
  Metadata value;
  switch (node.kind) {
    case Kind::kScalar:
      return scalar_value(document, node, problems);
    case Kind::kRefused:
      return value;
    case Kind::kSequence:
      value.kind = Metadata::Kind::kList;
      for (std::size_t i = index + 1; i < node.end; i = document[i].end) {
        value.items.push_back(value_at(document, i, problems));
      }
      return value;
    case Kind::kMapping:
      break;
  }
  value.kind = Metadata::Kind::kMap;
  for (const auto& [key, at] : document.fields(index)) {
    value.items.push_back(value_at(document, at, problems));
    value.items.back().name = key.text;
  }
  return value;
}

}  // namespace

std::shared_ptr<const Metadata> read_metadata(const YamlDocument& document,
                                              std::size_t index,
                                              Problems* problems) {
  const YamlNode& node = document[index];
  if (document.is_null(node) ||
      !expect_kind(document, node, Kind::kMapping,
                   "error parsing metadata: must be a mapping", problems)) {
    return nullptr;
  }
  return std::make_shared<const Metadata>(value_at(document, index, problems));
}

PlainKind plain_kind(const YamlDocument& document, const YamlNode& scalar) {
  if (!scalar.plain) return PlainKind::kText;
  if (document.is_null(scalar)) return PlainKind::kNull;
  const std::string_view text = document.text(scalar);
  return parse_bool(text) ? PlainKind::kBool : number_kind(text);
}

std::optional<bool> parse_bool(std::string_view text) {
  if (is_one_of(kTrue, text)) return true;
  if (is_one_of(kFalse, text)) return false;
  return std::nullopt;
}

}  // namespace limitree
