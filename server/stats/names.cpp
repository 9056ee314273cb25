#include "stats/names.hpp"

#include <re2/re2.h>

#include "net/text.hpp"

namespace limitree::server {

namespace {

bool is_bad(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value < ' ' || value == 0x7F || value == ':' || value == '|';
}

}  // namespace

std::string clean_name(std::string_view name) {
  static const RE2 address(R"((\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3}))",
                           RE2::Latin1);
  std::string clean;
  clean.reserve(name.size());
  while (!name.empty()) {
    const std::size_t size = character_size(name);
    if (size == 0 || is_bad(name[0])) {
      clean += '_';
    } else {
      clean += name.substr(0, size);
    }
    name.remove_prefix(size == 0 ? 1 : size);
  }
  RE2::GlobalReplace(&clean, address, R"(\1_\2_\3_\4)");
  return clean;
}

}  // namespace limitree::server
