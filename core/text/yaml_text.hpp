// Texts as scalars of YAML, for programs that write it.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace limitree {

// `text`, which is UTF-8, in double quotes.
std::string yaml_quoted(std::string_view text);

// `text` as it is if every reader of YAML reads it as this text, else in double
// quotes.
std::string yaml_scalar(std::string_view text);

// Appends the line of a key, up to its ":".  `text` stands for a key of `size`
// bytes; a long one needs a "? ".
void append_yaml_key(std::string_view margin, std::size_t size,
                     std::string_view text, std::string* yaml);

}  // namespace limitree
