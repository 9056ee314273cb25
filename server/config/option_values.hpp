// The kinds of values of options, and strict reading of them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/settings.hpp"

namespace limitree::server {

// The values given for an option, and the place: "--workers", "GRPC_PORT".
struct OptionValue {
  std::string place;
  std::vector<std::string> values;  // several if it may be repeated
  // Whether the form is that of envoyproxy/ratelimit's environment, not that of
  // limits.yaml and the command line.
  bool is_original = false;

  const std::string& text() const { return values.at(0); }
};

// The kind of an option's value.
struct ValueKind {
  const char* value = "";  // as the help calls it; empty: true or false
  bool repeats = false;
  std::int64_t least = 1;  // of a number
  std::int64_t most = 0;
  const char* words = "";  // the words to choose from, separated by blanks
  bool secret = false;     // messages do not show it
};

// What an option sets: a field that gets the value as it is, or a function that
// takes the value.
using Target = std::variant<bool*, std::string*, std::uint32_t*, std::size_t*,
                            Duration*, double*, std::vector<std::string>*,
                            Pairs*, std::function<void(const OptionValue&)>>;

// These throw Failure, "PLACE: what is wrong", if the value is not valid.
void set_target(const OptionValue& value, const ValueKind& kind,
                const Target& target);
// Targets of times: one for which 0 means no limit, and one that must be
// longer, because something happens each time that it is over.
Target limit_or_zero(Duration* to);
Target more_than_zero(Duration* to);
// The index of the value in `words`, which are separated by blanks, in upper or
// lower case.
std::size_t find_word(const OptionValue& value, std::string_view words);
// "PLACE: must be ..., is 'value'".
[[noreturn]] void refuse(const OptionValue& value, const std::string& expected);

// The value as the help shows it; empty if there is nothing to show.
std::string shown_value(const Target& target);

// The parts of `text` between marks.
std::vector<std::string> split(std::string_view text, char mark);

}  // namespace limitree::server
