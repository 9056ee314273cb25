// The kinds of values of settings, and strict reading of them.

#ifndef LIMITREE_SERVER_CONFIG_OPTION_VALUES_HPP
#define LIMITREE_SERVER_CONFIG_OPTION_VALUES_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/settings.hpp"

namespace limitree::server {

// How a text is written.
enum class Form {
  kOption,    // as the command line, and limits.yaml, have it
  kOriginal,  // as envoyproxy/ratelimit reads it from the environment
};

// What was given for a setting, and where it stands: "--workers", "GRPC_PORT".
struct Given {
  std::string place;
  std::vector<std::string> values;  // several if it may be repeated
  Form form = Form::kOption;
};

// What the value of an option is.
struct ValueKind {
  const char* value = "";  // as the help calls it; empty: true or false
  bool repeats = false;
  std::int64_t least = 1;  // of a number
  std::int64_t most = 0;
  const char* words = "";  // which of them it is, with blanks between
};

// What an option sets, if its value is there as it is.
using Target =
    std::variant<bool*, std::string*, std::uint32_t*, std::size_t*,
                 Nanoseconds*, double*, std::vector<std::string>*, Pairs*>;

// These throw Failure, "PLACE: what is wrong", if the value is not valid.
void set_target(const Given& given, const ValueKind& kind, Target field);
// The index of the value in `words`, in upper or lower case.
std::size_t find_word(const Given& given,
                      const std::vector<std::string_view>& words);
// "PLACE: must be ..., is 'value'".
[[noreturn]] void refuse(const Given& given, const std::string& expected);

// The value as the help shows it; empty if there is nothing to show.
std::string shown_value(Target field);

// The parts of `text` between marks.
std::vector<std::string> split(std::string_view text, char mark);

// Reads a duration as Go writes it, "24h", "1h30m", "1.5s", "0"; none if it is
// not one, or negative.
std::optional<Nanoseconds> parse_go_duration(std::string_view text);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_CONFIG_OPTION_VALUES_HPP
