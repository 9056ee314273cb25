// Makes a request from the values of a line, for formats that name them.

#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <optional>
#include <string_view>

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

}  // namespace limitree::cli
