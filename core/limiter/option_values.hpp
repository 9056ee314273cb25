// The kinds of values of options, and strict reading of them.
//
// Each function sets *out, or fails with kInvalidConfig and a message that
// begins with the name of the option and says what is valid.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/limit.hpp"
#include "base/status.hpp"
#include "base/time.hpp"

namespace limitree {

// The name of an option, and its new value as text.
struct Setting {
  std::string_view name;
  std::string_view value;
};

Status refuse(const Setting& setting, std::string_view problem);

// A whole number from `least` to `most`.
Status read_number(const Setting& setting, std::int64_t least,
                   std::int64_t most, std::int64_t* out);

// "50ms", from `least` to `most`, in the format of limits.yaml.
Status read_time(const Setting& setting, Duration least, Duration most,
                 Duration* out);

// "on" or "off".
Status read_switch(const Setting& setting, bool* out);

// "1/8", "0.125" or "1": greater than 0, or from 0 on if `least` is 0, and at
// most 1.
Status read_share(const Setting& setting, std::int64_t least, Share* out);

// Text without control characters, at most `most` bytes.
Status read_text(const Setting& setting, std::string* out,
                 std::size_t most = 4096);

// One of `words`: its index.
Status read_index(const Setting& setting,
                  std::span<const std::string_view> words, std::size_t* out);

// The same for an enumeration whose values are numbered as `words`.
template <typename Enum, std::size_t kCount>
Status read_word(const Setting& setting,
                 const std::string_view (&words)[kCount], Enum* out) {
  auto index = static_cast<std::size_t>(*out);
  Status status = read_index(setting, words, &index);
  *out = static_cast<Enum>(index);
  return status;
}

}  // namespace limitree
