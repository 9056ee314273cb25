// UTF-8, as far as limits.yaml and bucket names need it.

#ifndef LIMITREE_BASE_UTF8_HPP
#define LIMITREE_BASE_UTF8_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace limitree {

// The bytes of the character that `text` begins with, 1 to 4; 0 if it begins
// with none: text is empty, or the bytes are not UTF-8 (a surrogate, a form
// longer than needed or a code point above U+10FFFF is not).
std::size_t utf8_size(std::string_view text);

// Appends `byte` as two upper-case hexadecimal digits.
void append_hex(unsigned char byte, std::string* text);

}  // namespace limitree

#endif  // LIMITREE_BASE_UTF8_HPP
