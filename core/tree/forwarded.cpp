#include "tree/forwarded.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "text/number.hpp"
#include "text/problems.hpp"
#include "tree/pattern.hpp"

namespace limitree {

namespace {

constexpr std::int32_t kMostHops = 100;
constexpr std::string_view kUnix = "unix";

Result<Network> read_network(std::string_view text) {
  if (pattern_kind(text) == PatternKind::kNetwork) return parse_network(text);
  const std::optional<Address> address = parse_address(text);
  if (!address) {
    return invalid_config(quote(text) +
                          " is neither an IP address nor a network");
  }
  return Network{*address, address->bits()};
}

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::size_t kLongestPort = 5;

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= kLongestPort &&
         text.find_first_not_of("0123456789") == kNone;
}

// Finds the last `separator` of `text` outside quotes.  A quote after a
// backslash does not end the quoted text.
std::size_t find_last_unquoted(std::string_view text, char separator) {
  bool quoted = false;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == '"') {
      std::size_t first = i;
      while (first > 0 && text[first - 1] == '\\') --first;
      if ((i - first) % 2 == 0) quoted = !quoted;
      i = first;
    } else if (text[i] == separator && !quoted) {
      return i;
    }
  }
  return kNone;
}

// Takes the text after the last separator off the end of *text.
std::string_view take_last(std::string_view* text, std::size_t separator) {
  const std::size_t begin = separator == kNone ? 0 : separator + 1;
  const std::string_view last = text->substr(begin);
  *text = text->substr(0, begin == 0 ? 0 : separator);
  return trim(last);
}

std::string_view unquoted(std::string_view value) {
  const bool quoted =
      value.size() >= 2 && value.front() == '"' && value.back() == '"';
  return quoted ? value.substr(1, value.size() - 2) : value;
}

// The value of `for` in one element of RFC 7239; empty if it is missing or
// there twice.
std::string_view find_for(std::string_view element) {
  std::string_view found;
  while (!element.empty()) {
    const std::string_view pair =
        take_last(&element, find_last_unquoted(element, ';'));
    const std::size_t equals = pair.find('=');
    if (equals == kNone || lower_case(pair.substr(0, equals)) != "for")
      continue;
    if (!found.empty()) return {};
    found = unquoted(pair.substr(equals + 1));
  }
  return found;
}

}  // namespace

Address grouped(const Address& address, int ipv6_prefix) {
  return address.v6 ? masked(address, ipv6_prefix) : address;
}

Status check_ipv6_prefix(std::int32_t ipv6_prefix) {
  if (ipv6_prefix >= 1 && ipv6_prefix <= 128) return {};
  return invalid_config("ipv6_prefix must be 1 to 128, is " +
                        std::to_string(ipv6_prefix));
}

Result<Proxies> Proxies::make(std::int32_t hops,
                              std::span<const std::string_view> networks,
                              ForwardedSyntax syntax,
                              std::int32_t ipv6_prefix) {
  if (hops < 0 || hops > kMostHops) {
    return invalid_config("trusted_hops must be 0 to " +
                          std::to_string(kMostHops) + ", is " +
                          std::to_string(hops));
  }
  if (hops > 0 && !networks.empty()) {
    return invalid_config(
        "trusted_hops and trusted_proxies exclude each other");
  }
  Status prefix_status = check_ipv6_prefix(ipv6_prefix);
  if (!prefix_status.ok()) return prefix_status;

  Proxies proxies;
  proxies.hops_ = hops;
  proxies.syntax_ = syntax;
  proxies.ipv6_prefix_ = ipv6_prefix;
  for (std::size_t i = 0; i < networks.size(); ++i) {
    if (networks[i] == kUnix) {
      proxies.unix_ = true;
      continue;
    }
    Result<Network> network = read_network(networks[i]);
    if (!network.ok()) {
      return invalid_config("trusted_proxies[" + std::to_string(i) +
                            "]: " + network.status().message());
    }
    proxies.networks_.push_back(network.value());
  }
  return proxies;
}

bool Proxies::trusts(const std::optional<Address>& address, int steps) const {
  if (steps < hops_) return true;
  if (!address) return unix_;
  return std::ranges::any_of(networks_, [&](const Network& network) {
    return network.contains(*address);
  });
}

std::optional<Proxies::Client> Proxies::client(
    std::string_view peer, std::span<const std::string_view> lines) const {
  // A peer that is neither empty nor an address is not a socket of this
  // machine.
  std::optional<Address> reached = parse_endpoint(peer);
  int steps = 0;
  if (reached || peer.empty()) {
    ForwardedEntries entries(lines, syntax_);
    while (trusts(reached, steps)) {
      const std::optional<std::string_view> entry = entries.take();
      if (!entry) break;
      const std::optional<Address> address = parse_endpoint(*entry);
      if (!address) break;
      reached = address;
      ++steps;
    }
  }
  if (!reached) return std::nullopt;
  return Client{grouped(*reached, ipv6_prefix_), steps};
}

std::optional<Address> parse_endpoint(std::string_view text) {
  text = trim(text);
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == kNone) return std::nullopt;
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && !(rest[0] == ':' && is_port(rest.substr(1)))) {
      return std::nullopt;
    }
    text = text.substr(1, end - 1);
    // Only addresses with colons have brackets.
    if (text.find(':') == kNone) return std::nullopt;
  } else if (std::ranges::count(text, ':') == 1) {
    const std::size_t colon = text.find(':');
    if (!is_port(text.substr(colon + 1))) return std::nullopt;
    text = text.substr(0, colon);
  }
  return parse_address(text);
}

std::optional<std::string_view> ForwardedEntries::take() {
  // RFC 9110: empty elements of a list are ignored.
  for (;;) {
    while (line_.empty()) {
      if (lines_.empty()) return std::nullopt;
      line_ = lines_.back();
      lines_ = lines_.first(lines_.size() - 1);
    }
    const std::string_view element = take_element();
    if (element.empty()) continue;
    return syntax_ == ForwardedSyntax::kList ? element : find_for(element);
  }
}

std::string_view ForwardedEntries::take_element() {
  const std::size_t comma = syntax_ == ForwardedSyntax::kList
                                ? line_.rfind(',')
                                : find_last_unquoted(line_, ',');
  return take_last(&line_, comma);
}

}  // namespace limitree
