#include "format.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace limitree::cli {

namespace {

constexpr std::int64_t kMicrosecond = 1'000;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  const std::int64_t rest = value % step;
  if (rest == 0 || value > INT64_MAX - step) return value;
  return value - rest + step;
}

// "1.5" for 1500 thousandths.
std::string thousandths_text(std::int64_t thousandths) {
  std::string text = std::to_string(thousandths / 1000);
  if (thousandths % 1000 == 0) return text;
  std::array<char, 8> fraction;
  std::snprintf(fraction.data(), fraction.size(), ".%03d",
                static_cast<int>(thousandths % 1000));
  text += fraction.data();
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

// Two adjacent units are enough for a reader: "2m30s", "3d4h".
std::string two_units_text(std::int64_t duration_ns) {
  struct Unit {
    std::int64_t size;
    std::int64_t next;  // the unit below
    char name;
    char next_name;
  };
  static constexpr std::array<Unit, 3> kUnits = {{
      {kDay, kHour, 'd', 'h'},
      {kHour, kMinute, 'h', 'm'},
      {kMinute, kSecond, 'm', 's'},
  }};
  for (const Unit& unit : kUnits) {
    const std::int64_t rounded = round_up(duration_ns, unit.next);
    if (rounded < unit.size) continue;
    std::string text = std::to_string(rounded / unit.size) + unit.name;
    const std::int64_t rest = rounded % unit.size / unit.next;
    if (rest != 0) text += std::to_string(rest) + unit.next_name;
    return text;
  }
  return {};
}

// The size of the UTF-8 character at the start of `text`; 0 if there is none.
std::size_t utf8_size(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  const unsigned char first = byte(0);
  const std::size_t size = first < 0x80                    ? 1
                           : first >= 0xc2 && first < 0xe0 ? 2
                           : first >= 0xe0 && first < 0xf0 ? 3
                           : first >= 0xf0 && first < 0xf5 ? 4
                                                           : 0;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and code points above U+10FFFF.
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) >= 0xa0) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) >= 0x90) return 0;
  return size;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  // U+0080 to U+009F are control characters too.
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

// The text that strftime() makes from a time.
std::string formatted(const char* format, CivilTime time) {
  const std::time_t local = time.unix_s + time.utc_offset_s;
  std::tm fields{};
  gmtime_r(&local, &fields);
  std::array<char, 48> text;
  return {text.data(),
          std::strftime(text.data(), text.size(), format, &fields)};
}

}  // namespace

std::string duration_text(std::int64_t duration_ns) {
  if (duration_ns == 0) return "0s";
  if (duration_ns < kMicrosecond) return std::to_string(duration_ns) + "ns";
  if (duration_ns < kMillisecond) return thousandths_text(duration_ns) + "us";
  if (duration_ns < kSecond) {
    return thousandths_text(round_up(duration_ns, kMicrosecond) /
                            kMicrosecond) +
           "ms";
  }
  const std::int64_t rounded = round_up(duration_ns, kMillisecond);
  if (rounded < kMinute) return thousandths_text(rounded / kMillisecond) + "s";
  return two_units_text(duration_ns);
}

std::string wait_text(std::int64_t retry_after_ns) {
  if (retry_after_ns < 0) return "-";
  if (retry_after_ns == LIMITREE_NEVER) return "never";
  return duration_text(retry_after_ns);
}

std::string count_text(std::int64_t count) {
  std::string text = std::to_string(count);
  const std::size_t sign = count < 0 ? 1 : 0;
  for (std::size_t i = text.size(); i > sign + 3;) {
    i -= 3;
    text.insert(i, ",");
  }
  return text;
}

std::string percent_text(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return "-";
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.2f%%",
                100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text.data();
}

std::string date_text(CivilTime time) { return formatted("%Y-%m-%d", time); }

std::string clock_text(CivilTime time) { return formatted("%H:%M:%S", time); }

std::string offset_text(CivilTime time) {
  const int minutes = std::abs(time.utc_offset_s) / 60;
  std::array<char, 48> text;
  std::snprintf(text.data(), text.size(), "%c%02d%02d",
                time.utc_offset_s < 0 ? '-' : '+', minutes / 60, minutes % 60);
  return text.data();
}

std::string date_time_text(CivilTime time) {
  return date_text(time) + ' ' + clock_text(time) + ' ' + offset_text(time);
}

std::string iso_text(CivilTime time) {
  return date_text(time) + 'T' + clock_text(time) +
         offset_text(time).insert(3, ":");
}

std::string printable(std::string_view text, bool utf8) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    const bool plain = size == 1 || (size > 1 && utf8);
    if (plain && !is_control(text.substr(0, size))) {
      shown += text.substr(0, size);
      text.remove_prefix(size);
      continue;
    }
    std::array<char, 8> escaped;
    std::snprintf(escaped.data(), escaped.size(), "\\x%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(text[0])));
    shown += escaped.data();
    text.remove_prefix(1);
  }
  return shown;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string policy_title(const limitree_level& level, bool utf8) {
  std::string title = printable(to_view(level.policy), utf8);
  if (level.mode != LIMITREE_ENFORCE) {
    title += std::string(" (") + limitree_mode_name(level.mode) + ')';
  }
  return title;
}

std::string left_text(const limitree_level& level) {
  std::string text =
      std::to_string(level.remaining) + '/' + std::to_string(level.limit);
  const std::string_view unit = to_view(level.unit);
  if (unit != kRequestUnit) text.append(" ").append(unit);
  return text;
}

}  // namespace limitree::cli
