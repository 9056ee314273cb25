#include "tree/pattern.hpp"

#include <string>

#include "text/problems.hpp"

namespace limitree {

namespace {

constexpr int kMappedPrefix = 96;  // of IPv4 addresses in IPv6 form

bool is_network(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || slash + 1 == name.size()) return false;
  const std::string_view digits = name.substr(slash + 1);
  return digits.size() <= 3 &&
         digits.find_first_not_of("0123456789") == std::string_view::npos &&
         parse_address(name.substr(0, slash)).has_value();
}

}  // namespace

PatternKind pattern_kind(std::string_view name) {
  if (name == "*") return PatternKind::kAny;
  if (name.find('*') != std::string_view::npos) return PatternKind::kGlob;
  return is_network(name) ? PatternKind::kNetwork : PatternKind::kExact;
}

Result<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view before = text.substr(0, slash);
  const Address address = parse_address(before).value_or(Address());
  int prefix = 0;
  for (const char digit : text.substr(slash + 1)) {
    prefix = prefix * 10 + (digit - '0');
  }

  // 10.0.0.0/8 can also be ::ffff:10.0.0.0/104 or 64:ff9b::10.0.0.0/104.
  const bool mapped = !address.v6 && before.find(':') != std::string_view::npos;
  const int offset = mapped ? kMappedPrefix : 0;
  const int longest = address.bits() + offset;
  if (prefix < offset || prefix > longest) {
    return invalid_config("the prefix of " + quote(text) + " must be " +
                          std::to_string(offset) + " to " +
                          std::to_string(longest));
  }
  const Network network{masked(address, prefix - offset), prefix - offset};
  if (network.address != address) {
    return invalid_config(quote(text) +
                          " has bits set after the prefix, did you mean " +
                          quote(AddressText(network).view()) + "?");
  }
  return network;
}

}  // namespace limitree
