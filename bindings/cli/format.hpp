// Quantities in a form for people.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "limitree.hpp"

namespace limitree::cli {

// What limits count that name no unit.
inline constexpr const char* kRequestUnit = "request";

// "1.5s", "2m30s", "3d4h", "250ms".  Rounded up, so that waiting for the time
// shown is long enough.  REQUIRES: duration_ns >= 0.
std::string duration_text(std::int64_t duration_ns);

// The same for a retry_after_ns: "-" if not limited, "never" if no wait helps.
std::string wait_text(std::int64_t retry_after_ns);

// "1,234,567"
std::string count_text(std::int64_t count);

// "7.04%"; "-" if `whole` is 0.
std::string percent_text(std::int64_t part, std::int64_t whole);

// A point in time on clocks that are `utc_offset_s` east of Greenwich.
struct CivilTime {
  std::int64_t unix_s;
  std::int32_t utc_offset_s;
};

std::string date_text(CivilTime time);       // "2026-03-02"
std::string clock_text(CivilTime time);      // "23:59:58"
std::string offset_text(CivilTime time);     // "+0100"
std::string date_time_text(CivilTime time);  // "2026-03-02 23:59:58 +0100"
std::string iso_text(CivilTime time);        // "2026-03-02T23:59:58+01:00"

// `text` with \xNN for every byte that is not UTF-8, or that could move the
// cursor of a terminal or change its state.  Without `utf8`, only ASCII is
// kept.
std::string printable(std::string_view text, bool utf8);

// The columns on a terminal of UTF-8 text without control characters.
std::size_t display_width(std::string_view text);

// The place of a level in the tree: "user:*/trade", "user:* (shadow)".
std::string policy_title(const limitree_level& level, bool utf8);

// "4/6": tokens left, and tokens in a full bucket.  "4/6 cents" if the limit
// counts another unit than requests.
std::string left_text(const limitree_level& level);

}  // namespace limitree::cli
