// The URLs of shm://, read into where the file is and how it is made.
//
//   shm://name                        the file /dev/shm/name
//   shm:///var/lib/app/limits         any other
//   ?max_buckets=100000&mode=0660&reset=1&make=0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace limitree::shared {

struct SharedUrl {
  static constexpr std::int64_t kMaxBuckets = std::int64_t{1} << 30;

  std::string path;              // absolute
  std::int64_t max_buckets = 0;  // 0: not given
  std::uint32_t mode = 0600;     // of a new file
  bool reset = false;            // make a file anew that cannot be used
  bool make = true;              // make a file if there is none
};

// Whether a class of users may read a file of that mode, or write to it, but
// not both: such a user can hold its locks, and do nothing else with it.
bool lets_only_lock(std::uint32_t mode);

bool is_shared_url(std::string_view text);

// kInvalidConfig if `text` is not such a URL.
Result<SharedUrl> parse_shared_url(std::string_view text);

}  // namespace limitree::shared
