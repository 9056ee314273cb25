#include "store/redis/script/lua_text.hpp"

#include <algorithm>

namespace limitree::redis {

namespace {

bool is_of_name(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

}  // namespace

void LuaNames::set(std::string_view name, std::string_view value) {
  for (auto& [known, text] : values) {
    if (known == name) {
      text = value;
      return;
    }
  }
  values.emplace_back(name, value);
}

void append_lua(std::string_view piece, const LuaNames& names,
                std::string* out) {
  if (piece.starts_with('\n')) piece.remove_prefix(1);
  for (;;) {
    const std::size_t mark = piece.find_first_of("<$");
    out->append(piece.substr(0, mark));
    if (mark == piece.npos) return;
    std::size_t end = mark + 1;
    while (end < piece.size() && is_of_name(piece[end])) ++end;
    const std::string_view name = piece.substr(mark + 1, end - mark - 1);
    if (piece[mark] == '$' && !name.empty()) {
      out->append(name).append(names.suffix);
    } else if (const auto found = std::ranges::find(
                   names.values, name,
                   [](const auto& value) { return value.first; });
               end < piece.size() && piece[end] == '>' &&
               found != names.values.end()) {
      append_lua(found->second, names, out);
      ++end;
    } else {
      out->append(piece.substr(mark, end - mark));
    }
    piece.remove_prefix(end);
  }
}

bool calls_function(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != text.npos;
       at = text.find(name, at + 1)) {
    const char before = at == 0 ? '\n' : text[at - 1];
    if (text.substr(at + name.size()).starts_with('(') && before != '.' &&
        !is_of_name(before)) {
      return true;
    }
  }
  return false;
}

std::string numbered(std::string_view before, std::size_t first,
                     std::size_t count, std::string_view behind) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) list += ", ";
    list.append(before).append(std::to_string(first + i)).append(behind);
  }
  return list;
}

std::string quoted_lua(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 0x7f &&
        std::string_view("'\\<$").find(c) == std::string_view::npos) {
      out.push_back(c);
      continue;
    }
    out.push_back('\\');
    out.push_back(static_cast<char>('0' + byte / 100));
    out.push_back(static_cast<char>('0' + byte / 10 % 10));
    out.push_back(static_cast<char>('0' + byte % 10));
  }
  return out += '\'';
}

}  // namespace limitree::redis
