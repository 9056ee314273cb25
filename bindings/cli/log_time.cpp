#include "log_time.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace limitree::cli {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The number in `text`, or -1 if `text` is not all digits.
int number(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

// 1 for "Jan"; 0 if `name` is not a month.
int month_of(std::string_view name) {
  static constexpr std::string_view kMonths =
      "JanFebMarAprMayJunJulAugSepOctNovDec";
  for (std::size_t i = 0; i < kMonths.size(); i += 3) {
    if (kMonths.substr(i, 3) == name) return static_cast<int>(i / 3 + 1);
  }
  return 0;
}

// Seconds since 1970 of a date and "10:05:03", as if it were UTC.
std::optional<std::int64_t> local_seconds(int year, int month, int day,
                                          std::string_view clock) {
  if (clock[2] != ':' || clock[5] != ':') return std::nullopt;
  const int hour = number(clock.substr(0, 2));
  const int minute = number(clock.substr(3, 2));
  const int second = number(clock.substr(6, 2));
  if (day < 1 || month < 1 || year < 0 || hour < 0 || hour > 23 || minute < 0 ||
      minute > 59 || second < 0 || second > 60) {  // 60: leap
    return std::nullopt;
  }
  const std::chrono::year_month_day date{
      std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
      std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return std::int64_t{86'400} *
             std::chrono::sys_days(date).time_since_epoch().count() +
         hour * 3600 + minute * 60 + second;
}

// The seconds east of Greenwich in "+0130" or "+01:30".
std::optional<std::int32_t> offset_seconds(std::string_view text) {
  const bool colon = text.size() == 6 && text[3] == ':';
  if (text.size() != 5 && !colon) return std::nullopt;
  const int hours = number(text.substr(1, 2));
  const int minutes = number(text.substr(text.size() - 2));
  if ((text[0] != '+' && text[0] != '-') || hours < 0 || hours > 23 ||
      minutes < 0 || minutes > 59) {
    return std::nullopt;
  }
  const std::int32_t size = hours * 3600 + minutes * 60;
  return text[0] == '-' ? -size : size;
}

// Cuts digits off *text, which are the nanoseconds of a fraction.
std::int32_t cut_nanos(std::string_view* text) {
  std::int32_t nanos = 0;
  std::int32_t unit = 100'000'000;
  for (; !text->empty() && is_digit(text->front()); unit /= 10) {
    nanos += unit * (text->front() - '0');
    text->remove_prefix(1);
  }
  return nanos;
}

}  // namespace

bool LogTime::read_common(std::string_view text, Instant* instant) {
  if (text.size() != kCommonSize || text[2] != '/' || text[6] != '/' ||
      text[11] != ':' || text[20] != ' ') {
    return false;
  }
  const auto local =
      local_seconds(number(text.substr(7, 4)), month_of(text.substr(3, 3)),
                    number(text.substr(0, 2)), text.substr(12, 8));
  const auto offset = offset_seconds(text.substr(21));
  if (!local || !offset) return false;
  *instant = {*local - *offset, 0, *offset};
  return true;
}

bool LogTime::read_rfc3339(std::string_view text, Instant* instant) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' ||
      (text[10] != 'T' && text[10] != 't' && text[10] != ' ')) {
    return false;
  }
  const auto local =
      local_seconds(number(text.substr(0, 4)), number(text.substr(5, 2)),
                    number(text.substr(8, 2)), text.substr(11, 8));
  text.remove_prefix(19);
  std::int32_t nanos = 0;
  if (text.starts_with('.') || text.starts_with(',')) {
    text.remove_prefix(1);
    if (text.empty() || !is_digit(text.front())) return false;
    nanos = cut_nanos(&text);
  }
  const bool utc = text.empty() || text == "Z" || text == "z";
  const auto offset = utc ? std::optional<std::int32_t>(0)  //
                          : offset_seconds(text);
  if (!local || !offset) return false;
  *instant = {*local - *offset, nanos, *offset};
  return true;
}

bool LogTime::read_number(std::string_view text, Instant* instant) {
  std::int64_t whole = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && is_digit(text[digits]); ++digits) {
    if (digits == 19 || whole > INT64_MAX / 10 - 1) return false;
    whole = whole * 10 + (text[digits] - '0');
  }
  if (digits == 0) return false;
  text.remove_prefix(digits);
  std::int64_t unit = 1;  // in a second
  while (unit < 1'000'000'000 && whole / unit >= 100'000'000'000) unit *= 1000;
  std::int64_t nanos = whole % unit * (1'000'000'000 / unit);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    nanos += cut_nanos(&text) / unit;
  }
  if (!text.empty()) return false;
  *instant = {whole / unit, static_cast<std::int32_t>(nanos), 0};
  return true;
}

bool LogTime::read_any(std::string_view text, Instant* instant) {
  return read_common(text, instant) || read_rfc3339(text, instant) ||
         read_number(text, instant);
}

template <typename Read>
bool LogTime::parse_by(Read read, std::string_view text, LogRequest* request) {
  if (text != last_text_ || text.empty()) {
    Instant instant{};
    if (!read(text, &instant)) return false;
    last_text_ = text;
    last_ = instant;
  }
  request->unix_s = last_.unix_s;
  request->nanos = last_.nanos;
  request->utc_offset_s = last_.utc_offset_s;
  return true;
}

bool LogTime::parse(std::string_view text, LogRequest* request) {
  return parse_by(read_any, text, request);
}

bool LogTime::parse_common(std::string_view text, LogRequest* request) {
  return parse_by(read_common, text, request);
}

}  // namespace limitree::cli
