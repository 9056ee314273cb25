// Names of DNS.

#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/digits.hpp"

namespace limitree {

// Whether it is a name of DNS, as far as its characters and its size go.
inline bool is_dns_name(std::string_view text) {
  constexpr std::size_t kMaxName = 253;
  return !text.empty() && text.size() <= kMaxName &&
         std::ranges::all_of(text, [](char one) {
           return is_letter(one) || is_digit(one) || one == '-' || one == '_' ||
                  one == '.';
         });
}

// Whether it is a name such as _memcached._tcp.example.com.
inline bool is_srv_name(std::string_view name) {
  if (!is_dns_name(name) || !name.starts_with('_')) return false;
  const std::size_t protocol = name.find("._");
  if (protocol == name.npos || protocol < 2) return false;
  const std::size_t domain = name.find('.', protocol + 1);
  return domain != name.npos && domain > protocol + 2 &&
         domain + 1 < name.size();
}

}  // namespace limitree
