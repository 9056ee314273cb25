#include "tree/proxies.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

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
                            "]: " + network.status().error().messages.front());
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

}  // namespace limitree
