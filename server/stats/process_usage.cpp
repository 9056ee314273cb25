#include "stats/process_usage.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace limitree::server {

namespace {

// The fields of /proc/self/stat after the name, which may have any character:
// the first is number 3 in proc(5).
bool read_fields(std::uint64_t* start_ticks, ProcessUsage* usage) {
  std::ifstream file("/proc/self/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos) return false;
  std::size_t at = name_end;
  const auto skip = [&](int count) {
    for (int i = 0; i < count && at != text.npos; ++i) {
      at = text.find(' ', at + 1);
    }
    return at != text.npos;
  };
  const auto number = [&] {
    return std::strtoull(text.c_str() + at, nullptr, 10);
  };
  if (!skip(20)) return false;
  *start_ticks = number();  // 22
  if (!skip(1)) return false;
  usage->virtual_bytes = number();  // 23
  if (!skip(1)) return false;
  usage->resident_bytes =
      number() * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return true;
}

// When the system was started, in seconds since 1970; 0 if that is not known.
std::uint64_t boot_time() {
  std::ifstream file("/proc/stat");
  for (std::string word; file >> word;) {
    std::uint64_t seconds = 0;
    if (word == "btime" && file >> seconds) return seconds;
  }
  return 0;
}

// Without that of the folder itself.
std::uint64_t count_descriptors() {
  std::error_code error;
  std::uint64_t count = 0;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end;
       !error && at != end; at.increment(error)) {
    ++count;
  }
  return count == 0 ? 0 : count - 1;
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace

std::optional<ProcessUsage> process_usage() {
  ProcessUsage usage;
  std::uint64_t start_ticks = 0;
  if (!read_fields(&start_ticks, &usage)) return std::nullopt;
  usage.begun = static_cast<double>(boot_time()) +
                static_cast<double>(start_ticks) /
                    static_cast<double>(sysconf(_SC_CLK_TCK));
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  usage.max_descriptors = limit.rlim_cur;
  usage.open_descriptors = count_descriptors();
  usage.cpu_seconds = cpu_seconds();
  return usage;
}

}  // namespace limitree::server
