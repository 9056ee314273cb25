#include "text/number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "text/problems.hpp"

namespace limitree {

namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::size_t kMaxDecimals = 9;  // of seconds: one nanosecond
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kDay = 86'400 * kSecond;

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};

// From the largest to the smallest, for format_duration().
constexpr std::array<Unit, 8> kUnits = {{
    {"w", 7 * kDay},
    {"d", kDay},
    {"h", 3600 * kSecond},
    {"m", 60 * kSecond},
    {"s", kSecond},
    {"ms", 1'000'000},
    {"us", 1'000},
    {"ns", 1},
}};

// These are read in any case, and with an s at the end.  A month and a year
// have the length that the rate limiters of web frameworks give them.
constexpr std::string_view kMonth = "month";
constexpr std::array<Unit, 9> kWords = {{
    {"sec", kSecond},
    {"second", kSecond},
    {"min", 60 * kSecond},
    {"minute", 60 * kSecond},
    {"hour", 3600 * kSecond},
    {"day", kDay},
    {"week", 7 * kDay},
    {kMonth, 30 * kDay},
    {"year", 360 * kDay},
}};

// Those of Go.  No unit is the beginning of a later one.
constexpr std::array<Unit, 8> kGoUnits = {{{"ns", 1},
                                           {"us", 1'000},
                                           {"\xc2\xb5s", 1'000},
                                           {"\xce\xbcs", 1'000},
                                           {"ms", 1'000'000},
                                           {"s", kSecond},
                                           {"m", 60 * kSecond},
                                           {"h", 3600 * kSecond}}};

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == text.npos;
}

// Names the form of `text` if it is a number only in other languages.
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

// Removes from the front of *text all characters for which `belongs` is true.
template <typename Belongs>
std::string_view take_while(Belongs belongs, std::string_view* text) {
  const auto end = std::ranges::find_if_not(*text, belongs);
  const auto size = static_cast<std::size_t>(end - text->begin());
  const std::string_view taken = text->substr(0, size);
  text->remove_prefix(size);
  return taken;
}

// Returns "minute" for "minutes", in small letters; empty if it is not a word.
std::string singular(std::string_view name) {
  constexpr std::size_t kMaxWord = 7;  // of "minutes"
  if (name.size() > kMaxWord) return {};
  std::string word = lower_case(name);
  if (word.ends_with('s')) word.pop_back();
  return word;
}

// Finds "m", which is not "M", or "minutes".
std::optional<std::int64_t> find_unit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (name == unit.name) return unit.nanoseconds;
  }
  const std::string word = singular(name);
  for (const Unit& unit : kWords) {
    if (word == unit.name) return unit.nanoseconds;
  }
  return std::nullopt;
}

// Reads "1d12h", "1.5h", "5 minutes", "0.5": numbers with units in falling
// order, of which the last may have decimals, or one number of seconds.
class DurationReader {
 public:
  // `text` has no sign.
  explicit DurationReader(std::string_view text) : rest_(text) {}

  enum class Outcome : std::uint8_t { kRead, kRefused, kTooLong, kTooFine };
  Outcome read();
  std::int64_t nanoseconds() const { return sum_; }

 private:
  Outcome read_part();
  Outcome add(std::string_view whole, std::string_view decimals,
              std::int64_t unit);

  std::string_view rest_;
  std::int64_t sum_ = 0;
  std::int64_t last_unit_ = INT64_MAX;
};

DurationReader::Outcome DurationReader::read() {
  if (const auto unit = find_unit(rest_)) {
    sum_ = *unit;
    return Outcome::kRead;
  }
  do {
    const Outcome outcome = read_part();
    if (outcome != Outcome::kRead) return outcome;
  } while (!rest_.empty());
  return Outcome::kRead;
}

DurationReader::Outcome DurationReader::read_part() {
  const std::string_view whole = take_while(is_digit, &rest_);
  std::string_view decimals;
  const bool point = rest_.starts_with('.');
  if (point) {
    rest_.remove_prefix(1);
    decimals = take_while(is_digit, &rest_);
    if (decimals.empty() || decimals.size() > kMaxDecimals) {
      return Outcome::kRefused;
    }
  }
  if (!is_integer(whole)) return Outcome::kRefused;
  const bool ended = rest_.empty();
  take_while(is_blank, &rest_);
  const std::string_view name = take_while(is_letter, &rest_);
  std::optional<std::int64_t> unit = find_unit(name);
  if (ended && last_unit_ == INT64_MAX) unit = kSecond;
  if (!unit || *unit >= last_unit_) return Outcome::kRefused;
  last_unit_ = *unit;
  if (!rest_.empty()) {
    take_while(is_blank, &rest_);
    if (point || rest_.empty()) return Outcome::kRefused;
  }
  return add(whole, decimals, *unit);
}

DurationReader::Outcome DurationReader::add(std::string_view whole,
                                            std::string_view decimals,
                                            std::int64_t unit) {
  std::int64_t part = 0;
  std::int64_t scale = 1;
  for (const char c : decimals) {
    part = 10 * part + (c - '0');
    scale *= 10;
  }
  // part / scale of a unit, without a product that could overflow.
  const std::int64_t common = std::gcd(unit, scale);
  if (part % (scale / common) != 0) return Outcome::kTooFine;
  part = part / (scale / common) * (unit / common);

  std::int64_t units = 0;
  const auto parsed = std::from_chars(whole.begin(), whole.end(), units);
  if (parsed.ec != std::errc() || __builtin_mul_overflow(units, unit, &units) ||
      __builtin_add_overflow(units, part, &units) ||
      __builtin_add_overflow(sum_, units, &sum_)) {
    return Outcome::kTooLong;
  }
  return Outcome::kRead;
}

std::string decimal(std::int64_t count, const Unit& unit) {
  std::string text = std::to_string(count / unit.nanoseconds);
  const std::int64_t rest = count % unit.nanoseconds;
  if (rest != 0) {
    std::string decimals = std::to_string(unit.nanoseconds + rest);
    decimals[0] = '.';  // replaces the 1 that kept the zeros
    decimals.erase(decimals.find_last_not_of('0') + 1);
    text += decimals;
  }
  return text.append(unit.name);
}

}  // namespace

Result<std::int64_t> parse_integer(std::string_view text) {
  if (!is_integer(text)) {
    return invalid_config("must be a whole number in plain digits, is " +
                          quote(text) + std::string(form(text)));
  }
  std::int64_t value = 0;
  if (std::from_chars(text.begin(), text.end(), value).ec != std::errc()) {
    return invalid_config(
        (text[0] == '-' ? "is too small: " : "is too large: ") + quote(text));
  }
  return value;
}

Result<std::int64_t> parse_integer(std::string_view text, std::int64_t least,
                                   std::int64_t most) {
  Result<std::int64_t> number = parse_integer(text);
  if (!number.ok()) return number;
  const std::int64_t value = number.value();
  if (value >= least && value <= most) return number;
  const std::string must =
      most < INT64_MAX
          ? "must be " + std::to_string(least) + " to " + std::to_string(most)
      : least == 0 ? "must not be negative"
                   : "must be greater than 0";
  return invalid_config(must + ", is " + std::to_string(value));
}

Result<Duration> parse_duration(std::string_view text) {
  using Outcome = DurationReader::Outcome;
  const bool is_negative = text.starts_with('-');
  DurationReader reader(text.substr(is_negative ? 1 : 0));
  Outcome outcome = reader.read();
  if (is_negative && (text.size() < 2 || !is_digit(text[1]))) {
    outcome = Outcome::kRefused;  // "-minute"
  }
  switch (outcome) {
    case Outcome::kRead:
      break;
    case Outcome::kRefused:
      return invalid_config(
          "must be a duration such as 500ms, 15s, 3m, 2h, 1d, is " +
          quote(text) + std::string(form(text)));
    case Outcome::kTooLong:
      return invalid_config("is too long: " + quote(text));
    case Outcome::kTooFine:
      return invalid_config("must be in whole nanoseconds, is " + quote(text));
  }
  const std::int64_t sum = reader.nanoseconds();
  return Duration(is_negative ? -sum : sum);
}

Result<Duration> parse_period(std::string_view text) {
  Result<Duration> period = parse_duration(text);
  if (!period.ok() || period.value() > Duration::zero()) return period;
  return invalid_config("must be greater than 0, is " +
                        format_duration(period.value()));
}

// Parts may come in any order, and each may have decimals.
std::optional<Duration> parse_go_duration(std::string_view text) {
  if (text == "0") return Duration::zero();
  std::int64_t sum = 0;
  do {
    const std::string_view whole = take_while(is_digit, &text);
    std::string_view decimals;
    if (text.starts_with('.')) {
      text.remove_prefix(1);
      decimals = take_while(is_digit, &text);
    }
    const auto unit = std::ranges::find_if(kGoUnits, [text](const Unit& one) {
      return text.starts_with(one.name);
    });
    if (whole.size() + decimals.size() == 0 || unit == kGoUnits.end()) {
      return std::nullopt;
    }
    text.remove_prefix(unit->name.size());
    std::int64_t part = 0;
    if (!whole.empty() &&
        std::from_chars(whole.begin(), whole.end(), part).ec != std::errc()) {
      return std::nullopt;
    }
    if (__builtin_mul_overflow(part, unit->nanoseconds, &part)) {
      return std::nullopt;
    }
    std::int64_t scale = unit->nanoseconds;
    std::int64_t fraction = 0;
    for (const char digit : decimals) {
      fraction += (digit - '0') * (scale /= 10);
    }
    if (__builtin_add_overflow(part, fraction, &part) ||
        __builtin_add_overflow(sum, part, &sum)) {
      return std::nullopt;
    }
  } while (!text.empty());
  return Duration(sum);
}

bool is_one_month(std::string_view text) {
  if (text.starts_with('1')) text.remove_prefix(1);
  take_while(is_blank, &text);
  return singular(text) == kMonth;
}

std::string format_duration(Duration time) {
  const std::int64_t count = time.count();
  if (count == 0) return "0s";
  if (count < 0) return '-' + format_duration(-time);
  // A number of up to four digits is easy to read; a longer one reads better
  // with a point.
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

std::string seconds_text(Duration time) {
  return decimal(time.count(), {"", kSecond});
}

std::string spoken_duration(Duration time) {
  std::int64_t rest = time.count();
  std::string text;
  for (const Unit& unit : kUnits) {
    if (unit.name == "w" || rest < unit.nanoseconds) continue;
    // Seconds and smaller units are last, and have decimals.
    if (unit.nanoseconds <= kSecond) return text + decimal(rest, unit);
    text += std::to_string(rest / unit.nanoseconds) + std::string(unit.name);
    rest %= unit.nanoseconds;
  }
  return text;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = lower_case(c);
  return lower;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace limitree
