#include "config/environment_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "limitree.hpp"

namespace limitree::server {

namespace {

constexpr double kMaxDuration = 9.2e18;

struct Unit {
  std::string_view name;
  double nanoseconds;
};

// Longer names first: "ms" is no "m".
constexpr Unit kUnits[] = {
    {"ns", 1},   {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"\xce\xbcs", 1e3},
    {"ms", 1e6}, {"s", 1e9},  {"m", 60e9},        {"h", 3600e9},
};

bool is_one_of(std::string_view text,
               std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return made;
}

// "a, b or c".
std::string listed(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

// Takes a number without sign or exponent off the front of *text.
std::optional<double> take_number(std::string_view* text) {
  double number = 0;
  if (text->starts_with('-')) return std::nullopt;
  const auto [rest, error] =
      std::from_chars(text->data(), text->data() + text->size(), number,
                      std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  text->remove_prefix(static_cast<std::size_t>(rest - text->data()));
  return number;
}

}  // namespace

std::optional<Nanoseconds> parse_go_duration(std::string_view text) {
  if (text == "0") return 0;
  double sum = 0;
  do {
    const std::optional<double> number = take_number(&text);
    if (!number) return std::nullopt;
    const auto* const unit = std::find_if(
        std::begin(kUnits), std::end(kUnits),
        [&](const Unit& one) { return text.starts_with(one.name); });
    if (unit == std::end(kUnits)) return std::nullopt;
    text.remove_prefix(unit->name.size());
    sum += *number * unit->nanoseconds;
  } while (!text.empty());
  if (sum > kMaxDuration) return std::nullopt;
  return static_cast<Nanoseconds>(std::llround(sum));
}

std::optional<std::string> EnvironmentReader::text(const char* name) const {
  const char* const value = lookup_(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<bool> EnvironmentReader::flag(const char* name) {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  if (is_one_of(*value, {"1", "t", "T", "true", "TRUE", "True"})) return true;
  if (is_one_of(*value, {"0", "f", "F", "false", "FALSE", "False"})) {
    return false;
  }
  refuse(name, "true or false");
  return std::nullopt;
}

std::optional<std::int64_t> EnvironmentReader::whole(const char* name,
                                                     WholeRange range) {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = value->data() + value->size();
  const auto [rest, error] = std::from_chars(value->data(), end, number);
  if (error == std::errc() && rest == end && number >= range.least &&
      number <= range.most) {
    return number;
  }
  refuse(name, "a number from " + std::to_string(range.least) + " to " +
                   std::to_string(range.most));
  return std::nullopt;
}

std::optional<double> EnvironmentReader::fraction(const char* name) {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  std::string_view rest = *value;
  const std::optional<double> number = take_number(&rest);
  if (number && rest.empty() && *number <= 1) return number;
  refuse(name, "a number from 0 to 1");
  return std::nullopt;
}

std::optional<Nanoseconds> EnvironmentReader::duration(const char* name) {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  const std::optional<Nanoseconds> read = parse_go_duration(*value);
  if (!read) refuse(name, "a duration such as 10s or 1h30m");
  return read;
}

std::optional<Pairs> EnvironmentReader::pairs(const char* name,
                                              const char* marks) {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  Pairs read;
  std::string_view rest = *value;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view one = rest.substr(0, comma);
    const std::size_t mark = one.find_first_of(marks);
    const std::string_view key = trimmed(one.substr(0, mark));
    if (mark == one.npos || key.empty()) {
      std::string example = "name:value,name:value";
      std::replace(example.begin(), example.end(), ':', *marks);
      refuse(name, example);
      return std::nullopt;
    }
    read.emplace_back(key, trimmed(one.substr(mark + 1)));
    if (comma == rest.npos) return read;
    rest.remove_prefix(comma + 1);
  }
}

std::optional<std::size_t> EnvironmentReader::word(
    const char* name, const std::vector<std::string_view>& words) {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (lower(*value) == lower(words[i])) return i;
  }
  refuse(name, listed(words));
  return std::nullopt;
}

void EnvironmentReader::set(const char* name, std::string* to) const {
  if (std::optional<std::string> value = text(name)) *to = std::move(*value);
}

void EnvironmentReader::set(const char* name, bool* to) {
  if (const std::optional<bool> value = flag(name)) *to = *value;
}

void EnvironmentReader::set_duration(const char* name, Nanoseconds* to) {
  if (const std::optional<Nanoseconds> value = duration(name)) *to = *value;
}

void EnvironmentReader::add_option(const char* name, const char* option,
                                   const std::string& value, Pairs* options) {
  if (check_option(name, option, value)) options->emplace_back(option, value);
}

bool EnvironmentReader::check_option(const char* name, const char* option,
                                     const std::string& value) {
  try {
    Config().set(option, value);
    return true;
  } catch (const Error& error) {
    std::string_view why = error.what();
    const std::string own = std::string(option) + ": ";
    if (why.starts_with(own)) why.remove_prefix(own.size());
    fail(name, std::string(why));
    return false;
  }
}

void EnvironmentReader::refuse(const char* name, const std::string& expected) {
  fail(name, "must be " + expected + ", is '" + text(name).value_or("") + "'");
}

void EnvironmentReader::fail(const char* name, const std::string& why) {
  errors_.push_back(std::string(name) + ": " + why);
}

}  // namespace limitree::server
