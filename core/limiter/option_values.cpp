#include "limiter/option_values.hpp"

#include <algorithm>
#include <optional>

#include "base/digits.hpp"
#include "text/number.hpp"
#include "text/problems.hpp"

namespace limitree {

namespace {

constexpr std::size_t kMaxDecimals = 9;

// A number of plain digits; "007" is possible after a decimal point.
std::optional<std::int64_t> digits(std::string_view text) {
  std::uint64_t number = 0;
  if (text.size() > kMaxDecimals + 1 || !read_digits(text, &number)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(number);
}

std::optional<Share> fraction(std::string_view part, std::string_view whole) {
  const std::optional<std::int64_t> above = digits(part);
  const std::optional<std::int64_t> below = digits(whole);
  if (!above || !below) return std::nullopt;
  return Share{*above, *below};
}

// "0.125"; the part before the point is 0 or 1.
std::optional<Share> decimal(std::string_view before, std::string_view after) {
  if (before != "0" && before != "1") return std::nullopt;
  if (after.size() > kMaxDecimals) return std::nullopt;
  const std::optional<std::int64_t> part = digits(after);
  if (!part) return std::nullopt;
  Share share{*part, 1};
  for (std::size_t i = 0; i < after.size(); ++i) share.whole *= 10;
  if (before == "1") share.part += share.whole;
  return share;
}

std::optional<Share> parse_share(std::string_view text) {
  if (const std::size_t at = text.find('/'); at != text.npos) {
    return fraction(text.substr(0, at), text.substr(at + 1));
  }
  if (const std::size_t at = text.find('.'); at != text.npos) {
    return decimal(text.substr(0, at), text.substr(at + 1));
  }
  return fraction(text, "1");
}

}  // namespace

Status refuse(const Setting& setting, std::string_view problem) {
  return Status(Code::kInvalidConfig,
                std::string(setting.name) + ": " + std::string(problem));
}

Status read_number(const Setting& setting, std::int64_t least,
                   std::int64_t most, std::int64_t* out) {
  const Result<std::int64_t> number = parse_integer(setting.value);
  if (!number.ok() || number.value() < least || number.value() > most) {
    return refuse(setting, "must be a whole number from " +
                               std::to_string(least) + " to " +
                               std::to_string(most));
  }
  *out = number.value();
  return {};
}

Status read_time(const Setting& setting, Duration least, Duration most,
                 Duration* out) {
  const Result<Duration> time = parse_duration(setting.value);
  if (!time.ok() || time.value() < least || time.value() > most) {
    return refuse(setting, "must be a duration from " + format_duration(least) +
                               " to " + format_duration(most));
  }
  *out = time.value();
  return {};
}

Status read_switch(const Setting& setting, bool* out) {
  if (setting.value != "on" && setting.value != "off") {
    return refuse(setting, "must be on or off");
  }
  *out = setting.value == "on";
  return {};
}

Status read_share(const Setting& setting, std::int64_t least, Share* out) {
  const std::optional<Share> share = parse_share(setting.value);
  if (!share || share->part < least || share->part > share->whole ||
      share->whole > Share::kMaxWhole) {
    return refuse(setting, std::string("must be ") +
                               (least > 0 ? "more than" : "at least") +
                               " 0 and at most 1, such as 1/8 or 0.125");
  }
  *out = *share;
  return {};
}

Status read_text(const Setting& setting, std::string* out, std::size_t most) {
  const auto is_control = [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == 0x7f;
  };
  if (setting.value.size() > most) {
    return refuse(setting,
                  "must have at most " + std::to_string(most) + " bytes");
  }
  if (std::ranges::any_of(setting.value, is_control)) {
    return refuse(setting, "must not have control characters");
  }
  *out = setting.value;
  return {};
}

Status read_index(const Setting& setting,
                  std::span<const std::string_view> words, std::size_t* out) {
  const auto found = std::ranges::find(words, setting.value);
  if (found == words.end()) {
    return refuse(setting, "must be " + join(words.first(words.size() - 1)) +
                               " or " + std::string(words.back()));
  }
  *out = static_cast<std::size_t>(found - words.begin());
  return {};
}

}  // namespace limitree
