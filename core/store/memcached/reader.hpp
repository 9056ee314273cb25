// Bytes from a memcached server, made into responses of the meta protocol.
//
// Bounded: a faulty server, or something else that listens on its port, must
// not make us keep whatever it sends.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace limitree::memcached {

// One response, to one line of a command.
struct Response {
  enum class Kind : std::uint8_t {
    kValue,      // VA: `text` is the value
    kDone,       // HD, MN, or STORED to a login
    kMiss,       // EN: there is no such item
    kNotStored,  // NS: there is one already
    kExists,     // EX: it has another CAS value
    kNotFound,   // NF
    kError,      // ERROR, CLIENT_ERROR or SERVER_ERROR: `text` is the line
  };
  Kind kind = Kind::kError;
  std::uint64_t cas = 0;  // if the response has one
  std::string text;
};

class Reader {
 public:
  // Of a value, in bytes: what servers take by default, and some more.
  static constexpr std::size_t kMaxValue = std::size_t{2} << 20U;
  // Of a line, in bytes.
  static constexpr std::size_t kMaxLine = std::size_t{2} << 10U;

  void feed(std::string_view bytes);

  // The next response that is complete.  Nothing if there is none, or if the
  // bytes are not a response: then failed() stays true.
  std::optional<Response> next();

  bool failed() const { return !detail_.empty(); }
  const std::string& detail() const { return detail_; }  // what was wrong

 private:
  std::optional<Response> take_value();
  std::optional<Response> fail(const char* detail);
  bool read_line(std::string_view line, Response* response);

  std::string bytes_;
  std::size_t begin_ = 0;  // of what has not been taken
  // A value that is announced: its response without text.
  std::optional<Response> value_;
  std::size_t value_size_ = 0;
  std::string detail_;
};

}  // namespace limitree::memcached
