// The times of access logs.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "log_request.hpp"

namespace limitree::cli {

class LogTime {
 public:
  static constexpr std::size_t kCommonSize = 26;

  // Sets the time of *request from one of
  //
  //   17/May/2015:10:05:03 +0000              the common format
  //   2015-05-17T10:05:03.250Z, ... +02:00    RFC 3339; without a zone, UTC
  //   1431857103.250                          seconds since 1970
  //
  // Numbers too large for seconds are milli-, micro- or nanoseconds.  Returns
  // false if `text` is none of these.
  bool parse(std::string_view text, LogRequest* request);

  // The same for the common format alone.
  bool parse_common(std::string_view text, LogRequest* request);

 private:
  struct Instant {
    std::int64_t unix_s;
    std::int32_t nanos;
    std::int32_t utc_offset_s;
  };

  template <typename Read>
  bool parse_by(Read read, std::string_view text, LogRequest* request);

  static bool read_common(std::string_view text, Instant* instant);
  static bool read_rfc3339(std::string_view text, Instant* instant);
  static bool read_number(std::string_view text, Instant* instant);
  static bool read_any(std::string_view text, Instant* instant);

  // Adjacent lines often have the same time, so it is parsed only once.
  std::string last_text_;
  Instant last_{};
};

}  // namespace limitree::cli
