// What this process takes of its system, as monitoring asks every process.

#pragma once

#include <cstdint>
#include <optional>

namespace limitree::server {

struct ProcessUsage {
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t virtual_bytes = 0;
  std::uint64_t open_descriptors = 0;
  std::uint64_t max_descriptors = 0;
  double begun = 0;  // seconds since 1970
};

// Takes time in proportion to the open descriptors.  Nothing if the system has
// no /proc.  From any thread.
std::optional<ProcessUsage> process_usage();

}  // namespace limitree::server
