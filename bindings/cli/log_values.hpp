// The formats of access logs, and how values that a format names make a
// request.

#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "log_request.hpp"
#include "log_time.hpp"

namespace limitree::cli {

// Where a value goes: a Field, or one of these.
enum class Slot : std::uint8_t {
  kTime = kMaxFields,
  kRequest,     // "GET /a?b=c HTTP/1.1"
  kUrlRequest,  // the same with "https://host:443/a?b=c"
  kPeer,        // an address and a port
  kIgnored,
};

inline constexpr std::size_t kSlotCount = kMaxFields + 5;

constexpr Slot slot_of(Field field) { return static_cast<Slot>(field); }

// What `name` means as a variable of nginx, as a key of JSON, or in --field;
// nullopt if it is none of the names that are known.
std::optional<Slot> known_slot(std::string_view name);

// Adds to *fields what a value for `slot` sets.
void add_fields(Slot slot, LogFields* fields);

class LogValues {
 public:
  // Forgets the values of the line before.
  void start() { set_.reset(); }

  // The bytes of `text` must live as long as the request.
  void set(Slot slot, std::string_view text) {
    if (text.empty()) return;
    const auto at = static_cast<std::size_t>(slot);
    texts_[at] = text;
    set_.set(at);
  }

  // Sets *request.  Returns the slot whose value makes no sense, or nothing.
  std::optional<Slot> finish(LogRequest* request);

 private:
  std::string_view text(Slot slot) const {
    const auto at = static_cast<std::size_t>(slot);
    return set_[at] ? texts_[at] : std::string_view();
  }

  std::array<std::string_view, kSlotCount> texts_;
  std::bitset<kSlotCount> set_;
  LogTime time_;
};

// The value of `key` goes to `slot`.  "client.ip" is the member "ip" of the
// member "client", or the member "client.ip"; of an array, the first element
// counts.
struct JsonKey {
  std::string key;
  Slot slot;
};

// For the "common" and "combined" formats of Apache and nginx.
std::unique_ptr<LogFormat> make_access_log();

// For lines that are JSON objects.  If a slot has several keys, the first that
// a line has counts.
std::unique_ptr<LogFormat> make_json_log(std::vector<JsonKey> keys);

// For lines that a log_format of nginx describes, whose fields it adds to
// *fields.  `open`: lines may go on.  Throws UsageError, with the column of the
// mistake, if it is not a log_format.
std::unique_ptr<LogFormat> make_pattern_log(std::string_view pattern, bool open,
                                            LogFields* fields);

}  // namespace limitree::cli
