// Texts of Lua, made of pieces.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace limitree::redis {

// What stands for the names in a piece.
struct LuaNames {
  void set(std::string_view name, std::string_view value);

  std::vector<std::pair<std::string_view, std::string>> values;  // of <name>
  std::string suffix;  // $name is the variable "name" and this: "3", "[i]"
};

// Appends a piece with the value of each <name> in its place, which may have
// names again, and each $name as a variable; a line break at its front is left
// out.  What `names` does not have stays as it is.
void append_lua(std::string_view piece, const LuaNames& names,
                std::string* out);

// Whether a text calls the function of that name, which no table holds.
bool calls_function(std::string_view text, std::string_view name);

// A list of `count` texts, each with its number in it, counted from `first` on.
std::string numbered(std::string_view before, std::size_t first,
                     std::size_t count, std::string_view behind);

// A string of Lua, whatever bytes it has; it has no names.
std::string quoted_lua(std::string_view text);

}  // namespace limitree::redis
