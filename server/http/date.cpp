#include "http/date.hpp"

#include <array>

namespace limitree::server {

// strftime() would write the words of the locale.
std::string http_date(std::time_t seconds) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed",
                                          "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr",
                                            "May", "Jun", "Jul", "Aug",
                                            "Sep", "Oct", "Nov", "Dec"};
  std::tm time{};
  gmtime_r(&seconds, &time);
  std::array<char, 64> numbers;
  std::strftime(numbers.data(), numbers.size(), "%Y %H:%M:%S GMT", &time);
  std::array<char, 8> day;
  std::strftime(day.data(), day.size(), "%d", &time);
  return std::string(kDays[time.tm_wday]) + ", " + day.data() + ' ' +
         kMonths[time.tm_mon] + ' ' + numbers.data();
}

const std::string& HttpDate::now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME_COARSE, &time);
  if (time.tv_sec != at_) {
    at_ = time.tv_sec;
    text_ = http_date(at_);
  }
  return text_;
}

}  // namespace limitree::server
