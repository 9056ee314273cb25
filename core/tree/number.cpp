#include "tree/number.hpp"

#include <array>
#include <charconv>
#include <optional>

#include "tree/problems.hpp"

namespace limitree {

namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::size_t kMaxDecimals = 9;  // of seconds: one nanosecond

struct Unit {
  std::string_view name;
  std::string_view word;
  std::int64_t nanoseconds;
};

// From the largest to the smallest, for format_duration().
constexpr std::array<Unit, 8> kUnits = {{
    {"w", "week", 604'800'000'000'000},
    {"d", "day", 86'400'000'000'000},
    {"h", "hour", 3'600'000'000'000},
    {"m", "minute", 60'000'000'000},
    {"s", "second", 1'000'000'000},
    {"ms", "", 1'000'000},
    {"us", "", 1'000},
    {"ns", "", 1},
}};
constexpr std::int64_t kSecond = 1'000'000'000;

Status refused(std::string what) {
  return Status(Code::kInvalidConfig, std::move(what));
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == text.npos;
}

// What makes `text` no integer, for those forms that other languages allow.
std::string_view form(std::string_view text) {
  if (text.starts_with('+')) return " (plus sign)";
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::string_view start = text.substr(0, 2);
  if (start == "0x" || start == "0X") return " (hexadecimal)";
  if (start == "0o" || start == "0O") return " (octal)";
  if (start == "0b" || start == "0B") return " (binary)";
  if (all_digits(text))
    return text == "0" ? " (negative zero)" : " (leading zero)";
  if (text.find_first_not_of("0123456789_,.eE+-") != text.npos) return "";
  if (text.find_first_of(kDigits) != 0) return "";
  if (text.find_first_of("eE") != text.npos) return " (exponent)";
  if (text.find('_') != text.npos) return " (underscore)";
  if (text.find(',') != text.npos) return " (comma)";
  return text.find('.') != text.npos ? " (decimals)" : "";
}

bool is_integer(std::string_view text) {
  if (text == "0") return true;
  if (text.starts_with('-')) text.remove_prefix(1);
  return all_digits(text) && text[0] != '0';
}

Status too_long(std::string_view text) {
  return refused("is too long: " + quote(text));
}

Result<Duration> times(std::int64_t number, std::int64_t unit,
                       std::string_view text) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(number, unit, &product)) return too_long(text);
  return Duration(product);
}

std::optional<std::int64_t> find_symbol(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (name == unit.name) return unit.nanoseconds;
  }
  return std::nullopt;
}

// "minute" or "minutes".
std::optional<std::int64_t> find_word(std::string_view name) {
  if (name.ends_with('s')) name.remove_suffix(1);
  for (const Unit& unit : kUnits) {
    if (!name.empty() && name == unit.word) return unit.nanoseconds;
  }
  return std::nullopt;
}

// What follows the number: "m", or " minutes" after a blank; either of them
// if there is no number.
std::optional<std::int64_t> find_unit(std::string_view rest, bool number) {
  if (number && rest.empty()) return kSecond;
  const bool blank = rest.starts_with(' ');
  std::optional<std::int64_t> unit;
  if (!number || !blank) unit = find_symbol(rest);
  if (!unit && (!number || blank)) unit = find_word(trim(rest));
  return unit;
}

// "0.5", "1.25": whole seconds, a point, one to nine digits.
std::optional<Result<Duration>> parse_decimal(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == text.npos) return std::nullopt;
  const std::string_view whole = text.substr(0, point);
  const std::string_view decimals = text.substr(point + 1);
  if (!is_integer(whole) || whole.starts_with('-') || !all_digits(decimals) ||
      decimals.size() > kMaxDecimals) {
    return std::nullopt;
  }
  std::int64_t fraction = 0;
  std::from_chars(decimals.begin(), decimals.end(), fraction);
  for (std::size_t i = decimals.size(); i < kMaxDecimals; ++i) fraction *= 10;

  Result<std::int64_t> seconds = parse_integer(whole);
  if (!seconds.ok()) return too_long(text);
  Result<Duration> time = times(seconds.value(), kSecond, text);
  if (!time.ok()) return time;
  if (__builtin_add_overflow(time.value().count(), fraction, &fraction)) {
    return too_long(text);
  }
  return Result<Duration>(Duration(fraction));
}

std::string decimal(std::int64_t count, const Unit& unit) {
  std::string text = std::to_string(count / unit.nanoseconds);
  const std::int64_t rest = count % unit.nanoseconds;
  if (rest != 0) {
    std::string decimals = std::to_string(unit.nanoseconds + rest);
    decimals[0] = '.';  // the 1 that has kept the zeros after the point
    decimals.erase(decimals.find_last_not_of('0') + 1);
    text += decimals;
  }
  return text.append(unit.name);
}

}  // namespace

Result<std::int64_t> parse_integer(std::string_view text) {
  if (!is_integer(text)) {
    return refused("must be a whole number in plain digits, is " + quote(text) +
                   std::string(form(text)));
  }
  std::int64_t value = 0;
  if (std::from_chars(text.begin(), text.end(), value).ec != std::errc()) {
    return refused((text[0] == '-' ? "is too small: " : "is too large: ") +
                   quote(text));
  }
  return value;
}

Result<Duration> parse_duration(std::string_view text) {
  if (auto decimal = parse_decimal(text)) return std::move(*decimal);

  const std::size_t after =
      std::min(text.find_first_not_of("0123456789-"), text.size());
  const std::optional<std::int64_t> unit =
      find_unit(text.substr(after), after > 0);
  const std::string_view number = after > 0 ? text.substr(0, after) : "1";
  if (!unit || !is_integer(number)) {
    return refused("must be a duration such as 500ms, 15s, 3m, 2h, 1d, is " +
                   quote(text) + std::string(form(text)));
  }
  Result<std::int64_t> value = parse_integer(number);
  if (!value.ok()) return too_long(text);
  return times(value.value(), *unit, text);
}

std::string format_duration(Duration time) {
  const std::int64_t count = time.count();
  if (count <= 0) return decimal(count, kUnits[4]);
  // A number of up to four digits is read at a glance; one with more is
  // better told with a point.
  for (const Unit& unit : kUnits) {
    if (count % unit.nanoseconds == 0 && count / unit.nanoseconds < 10'000) {
      return decimal(count, unit);
    }
  }
  for (const Unit& unit : kUnits) {
    if (unit.nanoseconds <= kSecond && count >= unit.nanoseconds) {
      return decimal(count, unit);
    }
  }
  return decimal(count, kUnits.back());
}

std::string spoken_duration(Duration time) {
  std::int64_t rest = time.count();
  std::string text;
  for (const Unit& unit : kUnits) {
    if (unit.name == "w" || rest < unit.nanoseconds) continue;
    // Seconds, and what is less than one, end it with their decimals.
    if (unit.nanoseconds <= kSecond) return text + decimal(rest, unit);
    text += std::to_string(rest / unit.nanoseconds) + std::string(unit.name);
    rest %= unit.nanoseconds;
  }
  return text;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace limitree
