#include "grpc/status.hpp"

#include "net/text.hpp"

namespace limitree::server {

namespace {

// 0 if there is no such unit.
Duration unit_of(char letter) {
  switch (letter) {
    case 'H':
      return 3600 * kOneSecond;
    case 'M':
      return 60 * kOneSecond;
    case 'S':
      return kOneSecond;
    case 'm':
      return kMillisecond;
    case 'u':
      return kMicrosecond;
    case 'n':
      return Duration(1);
    default:
      return Duration::zero();
  }
}

}  // namespace

std::string short_message(std::string text) {
  constexpr std::size_t kMost = 2000;
  if (text.size() <= kMost) return text;
  std::size_t size = kMost;
  while (size > 0 && (text[size] & 0xc0) == 0x80) --size;
  text.resize(size);
  return text + "...";
}

std::optional<Duration> parse_grpc_timeout(std::string_view text) {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  const Duration unit = unit_of(text.back());
  if (unit == Duration::zero()) return std::nullopt;
  std::int64_t count = 0;
  for (const char digit : text.substr(0, text.size() - 1)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    count = count * 10 + (digit - '0');
  }
  // 99,999,999 hours are more than 64 bits of nanoseconds.
  return count > kNever / unit ? kNever : count * unit;
}

std::string percent_encode(std::string_view text) {
  return percent_encoded(
      text, [](char one) { return one >= ' ' && one <= '~' && one != '%'; });
}

}  // namespace limitree::server
