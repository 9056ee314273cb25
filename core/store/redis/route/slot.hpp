// The slots of a Redis Cluster.

#pragma once

#include <cstdint>
#include <string_view>

namespace limitree::redis {

inline constexpr std::int32_t kSlots = 16384;

// The slot of `key`: CRC-16/XMODEM of it, or of what stands between its first
// "{" and the first "}" after that unless this is empty.
std::int32_t slot_of(std::string_view key);

}  // namespace limitree::redis
