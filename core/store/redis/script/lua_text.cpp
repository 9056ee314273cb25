#include "store/redis/script/lua_text.hpp"

namespace limitree::redis {

void append_lua(
    std::string_view text,
    std::initializer_list<std::pair<std::string_view, std::string>> values,
    std::string* out) {
  if (text.starts_with('\n')) text.remove_prefix(1);
  for (;;) {
    const std::size_t open = text.find('<');
    const std::size_t close = text.find_first_of("> ", open);
    out->append(text.substr(0, open));
    if (open == text.npos) return;
    std::size_t used = open;
    if (close != text.npos && text[close] == '>') {
      const std::string_view name = text.substr(open + 1, close - open - 1);
      for (const auto& [known, value] : values) {
        if (known != name) continue;
        out->append(value);
        used = close + 1;
      }
    }
    if (used == open) out->push_back(text[used++]);  // a "<" of its own
    text.remove_prefix(used);
  }
}

std::string quoted_lua(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 0x7f && c != '\'' && c != '\\') {
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
