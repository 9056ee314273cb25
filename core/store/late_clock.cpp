#include "store/late_clock.hpp"

#include <ctime>

namespace limitree {

std::string text_of(Instant at) {
  using std::chrono::milliseconds;
  const Instant second = std::chrono::floor<std::chrono::seconds>(at);
  const auto seconds = static_cast<std::time_t>(second.time_since_epoch() /
                                                std::chrono::seconds(1));
  std::tm time{};
  gmtime_r(&seconds, &time);
  char text[64];
  const std::size_t size =
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S.", &time);
  const std::string millis =
      std::to_string(1000 + (at - second) / milliseconds(1));
  return std::string(text, size) + millis.substr(1) + " UTC";
}

}  // namespace limitree
