// Texts of Lua, made of pieces.

#ifndef LIMITREE_STORE_REDIS_SCRIPT_LUA_TEXT_HPP
#define LIMITREE_STORE_REDIS_SCRIPT_LUA_TEXT_HPP

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace limitree::redis {

// Appends a text with the value of each <name> in its place; a line break at
// its front is left out.
void append_lua(
    std::string_view text,
    std::initializer_list<std::pair<std::string_view, std::string>> values,
    std::string* out);

// A string of Lua, whatever bytes it has.
std::string quoted_lua(std::string_view text);

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_SCRIPT_LUA_TEXT_HPP
