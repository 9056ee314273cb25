// Parses one line of the access log of a web server.
//
// Reads the "common" and "combined" formats of Apache and nginx, and ignores
// everything after the user agent.  The results are views of the bytes of the
// line as they were logged: nothing is unescaped, copied or allocated.

#ifndef LIMITREE_CLI_ACCESS_LOG_HPP
#define LIMITREE_CLI_ACCESS_LOG_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace limitree::cli {

enum class Field : std::uint8_t {
  kRemoteAddr,
  kRemoteUser,
  kMethod,
  kPath,   // the target up to its '?'
  kQuery,  // the target after its '?'; empty if there is none
  kTarget,
  kProtocol,
  kStatus,
  kBytes,
  kReferer,
  kUserAgent,
};

inline constexpr std::size_t kFieldCount = 11;

// "remote_addr" for Field::kRemoteAddr.
std::string_view field_name(Field field);
std::optional<Field> field_of(std::string_view name);

// The content of one line.  A request that is not "METHOD target PROTOCOL",
// such as a TLS greeting on a plain port, still counts as a request; its
// method, path, query, target and protocol are "-".
struct LogRequest {
  std::array<std::string_view, kFieldCount> fields;
  std::int64_t unix_s;
  std::int32_t utc_offset_s;

  std::string_view operator[](Field field) const {
    return fields[static_cast<std::size_t>(field)];
  }
  std::string_view& operator[](Field field) {
    return fields[static_cast<std::size_t>(field)];
  }
};

class AccessLog {
 public:
  // Parses `line`, without its newline.  Returns nullptr, or what is wrong with
  // the line; *request is then undefined.  The views live as long as the bytes
  // of `line`.
  const char* parse(std::string_view line, LogRequest* request);

 private:
  bool parse_time(std::string_view text, LogRequest* request);

  // Adjacent lines usually have the same time, so it is parsed only once.
  std::string last_text_ = "01/Jan/1970:00:00:00 +0000";
  std::int64_t last_unix_s_ = 0;
  std::int32_t last_utc_offset_s_ = 0;
};

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_ACCESS_LOG_HPP
