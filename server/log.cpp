#include "log.hpp"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <initializer_list>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

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

// Where lines are composed, one at a time.  set_log() reserves the memory: a
// service that has none left must be able to say so.
struct Composer {
  std::mutex lock;
  std::string message;
  std::string line;
} composer;

constexpr std::size_t kUsualSize = 2000;

// One object, with the time now.
void append_json(LogLevel level) {
  const std::time_t time = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&time, &utc);
  char shown[32] = "";
  std::strftime(shown, sizeof shown, "%Y-%m-%dT%H:%M:%SZ", &utc);
  JsonWriter to(&composer.line);
  to.begin_object();
  to.text("@timestamp", shown);
  to.text("level", name_of(level));
  to.text("@message", composer.message);
  to.end_object();
}

void append_text(LogLevel level) {
  std::string& line = composer.line;
  line += "limitree serve: ";
  if (level != LogLevel::kInfo) line.append(name_of(level)).append(": ");
  line += composer.message;
}

void write_line(LogLevel level, std::initializer_list<std::string_view> parts) {
  const std::lock_guard lock(composer.lock);
  composer.message.clear();
  for (const std::string_view part : parts) composer.message += part;
  std::string& line = composer.line;
  line.clear();
  if (log_settings.json) {
    append_json(level);
  } else {
    append_text(level);
  }
  line += '\n';
  // One call, so that lines of several threads do not mix.  If nobody reads
  // them, the service goes on.
  [[maybe_unused]] const auto written =
      write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void set_log(const LogSettings& settings) {
  log_settings = settings;
  composer.message.reserve(kUsualSize);
  composer.line.reserve(kUsualSize + kUsualSize / 2);  // with escapes
}

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

void log_line(const std::string& text) { log_line(LogLevel::kInfo, text); }

void log_line(LogLevel level, const std::string& text) {
  if (level <= log_settings.level) write_line(level, {text});
}

void log_event(std::int32_t /*event*/, limitree_str text,
               void* /*user_data*/) noexcept {
  try {
    log_line(LogLevel::kWarning, std::string(text.data, text.size));
  } catch (const std::bad_alloc&) {
    // Out of memory: the message is lost, but the counters are right.
  }
}

void announce(const std::string& text) {
  if (log_settings.level >= LogLevel::kWarning) {
    write_line(LogLevel::kInfo, {text});
  }
}

void log_trouble(std::string_view what, std::string_view why) {
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
  const std::string count = others == 0 ? "" : std::to_string(others);
  write_line(
      LogLevel::kError,
      {what, why.empty() ? "" : ": ", why, others == 0 ? "" : ", ", count,
       others == 0 ? "" : " other failures since the last message"});
}

}  // namespace limitree::server
