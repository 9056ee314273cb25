#include "log.hpp"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <new>
#include <string>

#include "io/loop.hpp"
#include "json/writer.hpp"

namespace limitree::server {

namespace {

// Between two messages of log_trouble().
constexpr Duration kBetweenTroubles = 60 * kOneSecond;

LogSettings log_settings;

const char* name_of(LogLevel level) {
  static constexpr const char* kNames[] = {"error", "warning", "info"};
  return kNames[static_cast<std::size_t>(level)];
}

// One object, with the time now.
std::string json_line(LogLevel level, const std::string& message) {
  const std::time_t time = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&time, &utc);
  char shown[32] = "";
  std::strftime(shown, sizeof shown, "%Y-%m-%dT%H:%M:%SZ", &utc);
  std::string line;
  JsonWriter to(&line);
  to.begin_object();
  to.text("@timestamp", shown);
  to.text("level", name_of(level));
  to.text("@message", message);
  to.end_object();
  return line;
}

std::string text_line(LogLevel level, const std::string& message) {
  std::string line = "limitree serve: ";
  if (level != LogLevel::kInfo) line += std::string(name_of(level)) + ": ";
  return line + message;
}

void write_line(LogLevel level, const std::string& message) {
  std::string line =
      log_settings.json ? json_line(level, message) : text_line(level, message);
  line += '\n';
  // One call, so that lines of several threads do not mix.  If nobody reads
  // them, the service goes on.
  [[maybe_unused]] const auto written =
      write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void set_log(const LogSettings& settings) { log_settings = settings; }

void log_line(const std::string& message) {
  log_line(LogLevel::kInfo, message);
}

void log_line(LogLevel level, const std::string& message) {
  if (level <= log_settings.level) write_line(level, message);
}

void log_event(std::int32_t /*event*/, limitree_str text,
               void* /*user_data*/) noexcept {
  try {
    log_line(LogLevel::kWarning, std::string(text.data, text.size));
  } catch (const std::bad_alloc&) {
    // Out of memory: the message is lost, but the counters are right.
  }
}

void announce(const std::string& message) {
  if (log_settings.level >= LogLevel::kWarning) {
    write_line(LogLevel::kInfo, message);
  }
}

void log_trouble(const std::string& what) {
  static std::atomic<Monotonic> quiet_until{Monotonic{}};
  static std::atomic<std::uint64_t> untold{0};
  const Monotonic now = steady_now();
  Monotonic until = quiet_until.load();
  if (now < until || !quiet_until.compare_exchange_strong(
                         until, after(now, kBetweenTroubles))) {
    ++untold;
    return;
  }
  const std::uint64_t others = untold.exchange(0);
  log_line(LogLevel::kError,
           what + (others == 0 ? ""
                               : ", " + std::to_string(others) +
                                     " other failures since the last message"));
}

}  // namespace limitree::server
