#include "text/time_zone.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>

#include "text/problems.hpp"
#include "text/text_file.hpp"

namespace limitree {

namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year;

constexpr std::int64_t kDay = 86'400;
constexpr int kLastYear = 2200;
constexpr std::size_t kMaxFile = std::size_t{1} << 20;

Status broken() {
  return invalid_config("is not a file in the format of RFC 8536");
}

// Takes numbers off the front of bytes; ok() is false after the end.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  std::string_view rest() const { return bytes_; }

  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) {
      ok_ = false;
      size = bytes_.size();
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  // A signed big-endian number.
  std::int64_t number(std::size_t size) {
    std::uint64_t value = 0;
    const std::string_view taken = take(size);
    for (const char byte : taken) {
      value = value << 8 | static_cast<unsigned char>(byte);
    }
    const unsigned unused = static_cast<unsigned>(64 - 8 * size);
    return static_cast<std::int64_t>(value << unused) >> unused;
  }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

struct Header {
  std::size_t ut, std, leaps, times, types, chars;

  std::size_t body(std::size_t time_size) const {
    return times * (time_size + 1) + types * 6 + chars +
           leaps * (time_size + 4) + std + ut;
  }
};

std::optional<Header> take_header(Bytes* bytes) {
  if (bytes->take(4) != "TZif") return std::nullopt;
  const std::string_view version = bytes->take(16);
  if (version.empty() || version[0] < '2') return std::nullopt;
  Header header{};
  for (std::size_t* field : {&header.ut, &header.std, &header.leaps,
                             &header.times, &header.types, &header.chars}) {
    const std::int64_t count = bytes->number(4);
    if (count < 0 || count > static_cast<std::int64_t>(kMaxFile)) {
      return std::nullopt;
    }
    *field = static_cast<std::size_t>(count);
  }
  if (!bytes->ok()) return std::nullopt;
  return header;
}

// The rule after the last transition: "CET-1CEST,M3.5.0,M10.5.0/3".
class FooterReader {
 public:
  explicit FooterReader(std::string_view text) : text_(text) {}

  // Appends the offsets from `last` on.  False if the rule is malformed.
  bool read(std::int64_t last, std::vector<ZoneOffset>* offsets);

 private:
  struct Date {
    char kind = 'M';  // 'M', 'J' or '0'
    int month = 0, week = 0, day = 0;
    std::int64_t time = 2 * 3600;  // after midnight

    std::int64_t in(int year) const;  // seconds of local time since 1970
  };

  bool skip(char c);
  bool name();
  bool number(int* value);
  bool time(std::int64_t* seconds);  // [+-]h[:m[:s]]
  bool date(Date* date);

  std::string_view text_;
};

bool FooterReader::skip(char c) {
  if (!text_.starts_with(c)) return false;
  text_.remove_prefix(1);
  return true;
}

bool FooterReader::name() {
  std::size_t size = 0;
  if (text_.starts_with('<')) {
    size = text_.find('>');
    if (size == text_.npos) return false;
    ++size;
  } else {
    size = std::min(text_.find_first_of("0123456789+-,"), text_.size());
  }
  text_.remove_prefix(size);
  return size >= 3;
}

bool FooterReader::number(int* value) {
  std::size_t size = 0;
  *value = 0;
  while (size < text_.size() && size < 4 && text_[size] >= '0' &&
         text_[size] <= '9') {
    *value = *value * 10 + (text_[size++] - '0');
  }
  text_.remove_prefix(size);
  return size > 0;
}

bool FooterReader::time(std::int64_t* seconds) {
  const bool negative = text_.starts_with('-');
  if (!skip('-')) skip('+');
  *seconds = 0;
  for (const int unit : {3600, 60, 1}) {
    int value = 0;
    if (unit != 3600 && !skip(':')) break;
    if (!number(&value)) return false;
    *seconds += std::int64_t{value} * unit;
  }
  if (negative) *seconds = -*seconds;
  return true;
}

bool FooterReader::date(Date* date) {
  if (!skip(',')) return false;
  bool read = false;
  if (skip('M')) {
    read = number(&date->month) && skip('.') && number(&date->week) &&
           skip('.') && number(&date->day) && date->month >= 1 &&
           date->month <= 12 && date->week >= 1 && date->week <= 5 &&
           date->day <= 6;
  } else {
    date->kind = skip('J') ? 'J' : '0';
    read = number(&date->day) && date->day <= 365 &&
           (date->kind == '0' || date->day > 0);
  }
  return read && (!skip('/') || time(&date->time));
}

std::int64_t FooterReader::Date::in(int number) const {
  const year in(number);
  sys_days at = in / 1 / 1;
  if (kind == '0') {
    at += days(day);
  } else if (kind == 'J') {  // 1 is January 1, and February 29 has no number
    at += days(day - 1 + (in.is_leap() && day >= 60 ? 1 : 0));
  } else {
    const auto of = in / std::chrono::month(static_cast<unsigned>(month));
    const std::chrono::weekday weekday(static_cast<unsigned>(day));
    at = week == 5 ? sys_days(of / weekday[std::chrono::last])
                   : sys_days(of / weekday[static_cast<unsigned>(week)]);
  }
  return at.time_since_epoch().count() * kDay + time;
}

bool FooterReader::read(std::int64_t last, std::vector<ZoneOffset>* offsets) {
  std::int64_t west = 0;  // of standard time; the format counts westwards
  if (!name() || !time(&west)) return false;
  const auto standard = static_cast<std::int32_t>(-west);
  if (text_.empty()) {
    offsets->push_back({last, standard});
    return true;
  }
  std::int64_t summer_west = west - 3600;
  if (!name()) return false;
  if (!text_.starts_with(',') && !time(&summer_west)) return false;
  Date to_summer;
  Date to_standard;
  if (!date(&to_summer) || !date(&to_standard) || !text_.empty()) return false;

  const auto summer = static_cast<std::int32_t>(-summer_west);
  std::vector<ZoneOffset> all;
  for (int year = 1969; year <= kLastYear; ++year) {
    all.push_back({to_summer.in(year) + west, summer});
    all.push_back({to_standard.in(year) + summer_west, standard});
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.from < b.from; });
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].from > last) offsets->push_back(all[i]);
    // The offset in force when the rule begins.
    const bool holds =
        all[i].from <= last && i + 1 < all.size() && all[i + 1].from > last;
    if (holds) offsets->push_back({last, all[i].seconds});
  }
  return true;
}

bool is_name(std::string_view name) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";
  return !name.empty() && name.size() < 100 && name.front() != '/' &&
         name.back() != '/' &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

}  // namespace

Result<std::vector<ZoneOffset>> parse_time_zone(std::string_view text) {
  Bytes bytes(text);
  const std::optional<Header> old = take_header(&bytes);
  if (!old) return broken();
  bytes.take(old->body(4));  // times of 32 bits
  const std::optional<Header> header = take_header(&bytes);
  if (!header || header->types == 0) return broken();

  std::vector<std::int64_t> times;
  std::vector<std::size_t> kinds;
  std::vector<std::int32_t> seconds;
  for (std::size_t i = 0; i < header->times && bytes.ok(); ++i) {
    times.push_back(bytes.number(8));
  }
  for (std::size_t i = 0; i < header->times && bytes.ok(); ++i) {
    kinds.push_back(static_cast<unsigned char>(bytes.number(1)));
  }
  for (std::size_t i = 0; i < header->types && bytes.ok(); ++i) {
    seconds.push_back(static_cast<std::int32_t>(bytes.number(4)));
    bytes.take(2);
  }
  bytes.take(header->chars + header->leaps * 12 + header->std + header->ut);
  if (!bytes.ok()) return broken();

  std::vector<ZoneOffset> offsets = {{INT64_MIN / 2, seconds[0]}};
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (kinds[i] >= seconds.size()) return broken();
    if (times[i] <= offsets.back().from) continue;
    offsets.push_back({times[i], seconds[kinds[i]]});
  }
  std::string_view footer = bytes.rest();
  if (footer.size() < 2 || footer.front() != '\n' || footer.back() != '\n') {
    return broken();
  }
  footer = footer.substr(1, footer.size() - 2);
  if (!footer.empty() &&
      !FooterReader(footer).read(offsets.back().from, &offsets)) {
    return broken();
  }
  return offsets;
}

Result<std::vector<ZoneOffset>> load_time_zone(std::string_view name) {
  if (name == "UTC") return std::vector<ZoneOffset>{{INT64_MIN / 2, 0}};
  if (!is_name(name)) {
    return invalid_config("must be a name such as Europe/Berlin, is " +
                          quote(name));
  }
  const char* const folder = std::getenv("TZDIR");
  std::string path = folder != nullptr ? folder : "/usr/share/zoneinfo";
  path += '/';
  path += name;
  const Result<std::string> bytes = read_file(path, kMaxFile);
  if (!bytes.ok()) {
    return invalid_config("is not in the system's database: " + quote(name));
  }
  Result<std::vector<ZoneOffset>> offsets = parse_time_zone(bytes.value());
  if (!offsets.ok()) return invalid_config("cannot be read: " + quote(path));
  return offsets;
}

}  // namespace limitree
