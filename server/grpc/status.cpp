#include "grpc/status.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "net/text.hpp"

namespace limitree::server {

std::string short_message(std::string text) {
  constexpr std::size_t kMost = 2000;
  if (text.size() <= kMost) return text;
  std::size_t size = kMost;
  while (size > 0 && (text[size] & 0xc0) == 0x80) --size;
  text.resize(size);
  return text + "...";
}

std::optional<Duration> parse_grpc_timeout(std::string_view text) {
  static constexpr std::pair<char, Duration> kUnits[] = {
      {'H', 3600 * kOneSecond}, {'M', 60 * kOneSecond}, {'S', kOneSecond},
      {'m', kMillisecond},      {'u', kMicrosecond},    {'n', Duration(1)}};
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  const auto* const found =
      std::ranges::find(kUnits, text.back(), &std::pair<char, Duration>::first);
  if (found == std::end(kUnits)) return std::nullopt;
  std::int64_t count = 0;
  for (const char digit : text.substr(0, text.size() - 1)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    count = count * 10 + (digit - '0');
  }
  // 99,999,999 hours are more than 64 bits of nanoseconds.
  return count > kNever / found->second ? kNever : count * found->second;
}

std::string percent_encode(std::string_view text) {
  return percent_encoded(
      text, [](char one) { return one >= ' ' && one <= '~' && one != '%'; });
}

}  // namespace limitree::server
