// The header in which proxies name their clients: its entries, last first.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "tree/address.hpp"

namespace limitree {

// The format of the header.
enum class ForwardedSyntax : std::uint8_t {
  kList,       // X-Forwarded-For: 203.0.113.7, 10.0.0.1
  kForwarded,  // RFC 7239: for=203.0.113.7;proto=https, for="[2001:db8::1]:80"
};

// Reads an address as servers and proxies write it: alone, with a port, or in
// brackets.  "unknown" and "_hidden" are not addresses.
std::optional<Address> parse_endpoint(std::string_view text);

// Goes through the entries from the right, where the nearest proxies have
// written theirs.  Text from the client is further left, so even an open quote
// in it cannot change how these entries are read.
class ForwardedEntries {
 public:
  // `lines` are the values of the header, in the order of the request.  They
  // are borrowed.
  ForwardedEntries(std::span<const std::string_view> lines,
                   ForwardedSyntax syntax)
      : lines_(lines), syntax_(syntax) {}

  // Takes the last entry that is left: the text of an address, or other text.
  // Returns nothing if no entry is left.
  std::optional<std::string_view> take();

 private:
  std::string_view take_element();

  std::span<const std::string_view> lines_;  // after the current one
  std::string_view line_;                    // the rest of the current one
  ForwardedSyntax syntax_;
};

// Which proxies are trusted, and so which address a request came from.
//
// The address of the peer is certain.  Each entry of the header was written by
// the proxy of the next entry, and the last one by the peer.  So the walk
// starts at the peer, and goes on to the left as long as the address it has
// reached is trusted.
class Proxies {
 public:
  struct Client {
    Address address;
    int believed;  // number of trusted entries of the header
  };

  // Trusts no proxy: the client is the peer.
  Proxies() = default;

  // Trusts either the nearest `hops` proxies, or all proxies in `networks`
  // ("10.0.0.0/8", "192.0.2.1", or "unix" for a peer without an address).  IPv6
  // clients are grouped by their first `ipv6_prefix` bits.  Fails with
  // kInvalidConfig.
  static Result<Proxies> make(std::int32_t hops,
                              std::span<const std::string_view> networks,
                              ForwardedSyntax syntax, std::int32_t ipv6_prefix);

  // The walk ends at the end of the header, or at the proxy that wrote an entry
  // which is not an address.  Returns nothing if it ends at a peer without an
  // address.
  std::optional<Client> client(std::string_view peer,
                               std::span<const std::string_view> lines) const;

 private:
  bool trusts(const std::optional<Address>& address, int steps) const;

  std::int32_t hops_ = 0;
  std::vector<Network> networks_;
  bool unix_ = false;
  ForwardedSyntax syntax_ = ForwardedSyntax::kList;
  int ipv6_prefix_ = 128;
};

// The first `ipv6_prefix` bits of an IPv6 address, followed by zeros; an IPv4
// address unchanged.
Address grouped(const Address& address, int ipv6_prefix);

// Fails with kInvalidConfig if the prefix is invalid.
Status check_ipv6_prefix(std::int32_t ipv6_prefix);

}  // namespace limitree
