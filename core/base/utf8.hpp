// UTF-8, as far as limits.yaml and bucket names need it.

#ifndef LIMITREE_BASE_UTF8_HPP
#define LIMITREE_BASE_UTF8_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace limitree {

// Returns the size of the first character of `text`, 1 to 4 bytes.  Returns 0
// if `text` is empty or does not begin with UTF-8 (surrogates, overlong forms
// and code points above U+10FFFF are not UTF-8).
std::size_t utf8_size(std::string_view text);

// Appends `byte` as two upper-case hexadecimal digits.
void append_hex(unsigned char byte, std::string* text);

}  // namespace limitree

#endif  // LIMITREE_BASE_UTF8_HPP
