// What a line of an access log says about a request, in any format.
//
// The values are views of bytes that the format owns, or of the line.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace limitree::cli {

// The fields of every format; a format may add more: see LogFields.
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
inline constexpr std::size_t kMaxFields = 32;  // with those of a format

// "remote_addr" for Field::kRemoteAddr.
std::string_view field_name(Field field);
std::optional<Field> field_of(std::string_view name);

// The names of the fields that the lines of a log have.
class LogFields {
 public:
  static LogFields common();  // those of the common and combined formats

  std::optional<Field> find(std::string_view name) const;

  // Finds or adds a field; nullopt if there is no room for another.
  std::optional<Field> add(std::string_view name);

  std::string list() const;  // "remote_addr, remote_user, ..."

 private:
  struct Named {
    std::string name;
    Field field;
  };
  std::vector<Named> names_;
  std::size_t others_ = 0;  // that are not in Field
};

// A request that is not "METHOD target PROTOCOL", such as a TLS greeting on a
// plain port, still counts as a request; its method, path, query, target and
// protocol are "-".
struct LogRequest {
  std::array<std::string_view, kMaxFields> fields;
  std::int64_t unix_s;
  std::int32_t nanos;  // after unix_s; 0 if the log has whole seconds
  std::int32_t utc_offset_s;

  std::string_view operator[](Field field) const {
    return fields[static_cast<std::size_t>(field)];
  }
  std::string_view& operator[](Field field) {
    return fields[static_cast<std::size_t>(field)];
  }
};

// Sets method, target, path, query and protocol from "GET /a?b=c HTTP/1.1".
void split_request(std::string_view text, LogRequest* request);

// Sets target, path and query from "/a?b=c".
void split_target(std::string_view target, LogRequest* request);

// Cuts the part before the next `mark` off *rest, and the mark with it.
// Without a mark *rest stays as it is.
std::optional<std::string_view> cut(std::string_view* rest, char mark);

// Cuts a quoted text off *rest, which begins with its '"'. A quote after an odd
// number of backslashes is part of the text.
std::optional<std::string_view> cut_quoted(std::string_view* rest);

// What is wrong with a line.
struct LineMistake {
  std::string_view reason;  // valid until the format reads another line
  std::size_t column = 0;   // of the byte, from 1; 0: not at one place

  // "column 12: no [time] in brackets", or the reason alone.
  std::string text() const;
};

class LogFormat {
 public:
  virtual ~LogFormat() = default;

  // Parses `line`, without its newline.  Returns nothing, or what is wrong with
  // the line; *request is then undefined.  Its views live as long as the bytes
  // of `line`, and until the next line is read.
  virtual std::optional<LineMistake> parse(std::string_view line,
                                           LogRequest* request) = 0;
};

// Makes the format `name`, as --format takes it, or one for a log_format of
// nginx, which has a '$'.  `keys` are "remote_addr=client.ip", for JSON.  Sets
// *fields to the fields that lines have.  Throws UsageError.
std::unique_ptr<LogFormat> make_log_format(const std::string& name,
                                           const std::vector<std::string>& keys,
                                           LogFields* fields);

}  // namespace limitree::cli
