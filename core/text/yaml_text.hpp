// Texts as scalars of YAML, for programs that write it.

#ifndef LIMITREE_TEXT_YAML_TEXT_HPP
#define LIMITREE_TEXT_YAML_TEXT_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace limitree {

// A longer key needs a "? " before it; YAML's own limit is 1024 characters.
inline constexpr std::size_t kMaxSimpleKey = 1000;

// `text`, which is UTF-8, in double quotes.
std::string yaml_quoted(std::string_view text);

// `text` as it is if every reader of YAML takes it for this text, else in
// double quotes.
std::string yaml_scalar(std::string_view text);

}  // namespace limitree

#endif  // LIMITREE_TEXT_YAML_TEXT_HPP
