// Reading messages of protobuf by the numbers of their fields.

#pragma once

#include <cstdint>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "limitree.h"

namespace limitree::server {

inline std::string_view view_of(protozero::data_view text) {
  return {text.data(), text.size()};
}

// Where the values of a field go.  To is a pointer to a number, a flag, a text
// or a list of texts, or a function of a std::int64_t or a std::string_view.  A
// text may be a message.
template <typename To>
struct MessageField {
  static constexpr bool kIsText =
      std::is_invocable_v<To, std::string_view> ||
      std::is_same_v<To, limitree_str*> || std::is_same_v<To, std::string*> ||
      std::is_same_v<To, std::string_view*> ||
      std::is_same_v<To, std::vector<std::string_view>*>;

  // Returns whether the reader is at this field; if so, takes its value.
  bool take(protozero::pbf_reader* reader) const {
    using protozero::pbf_wire_type;
    if (reader->tag_and_type() !=
        protozero::tag_and_type(number, kIsText
                                            ? pbf_wire_type::length_delimited
                                            : pbf_wire_type::varint)) {
      return false;
    }
    if constexpr (!kIsText) {
      // Not get_bool(), which reads beyond a message that ends before the
      // value, and only the first byte of a value.
      const std::uint64_t value = reader->get_uint64();
      if constexpr (std::is_invocable_v<To, std::int64_t>) {
        to(static_cast<std::int64_t>(value));
      } else {
        *to = static_cast<std::remove_pointer_t<To>>(value);
      }
    } else {
      const std::string_view text = view_of(reader->get_view());
      if constexpr (std::is_invocable_v<To, std::string_view>) {
        to(text);
      } else if constexpr (std::is_same_v<To, std::vector<std::string_view>*>) {
        to->push_back(text);
      } else {
        *to = {text.data(), text.size()};
      }
    }
    return true;
  }

  protozero::pbf_tag_type number;
  To to;
};

template <typename To>
MessageField<To> field(protozero::pbf_tag_type number, To to) {
  return {number, to};
}

// Skips all other fields.  Throws protozero::exception if `message` is
// malformed.
template <typename... To>
void read_message(std::string_view message, const MessageField<To>&... fields) {
  protozero::pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    if (!(fields.take(&reader) || ...)) reader.skip();
  }
}

}  // namespace limitree::server
