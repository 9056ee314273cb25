// Which proxies are believed, and so which address a request came from.
//
// A request reaches us from a peer whose address is certain.  What a header
// says of those before it was written by somebody: each entry by the one after
// it, the last by the peer.  So the walk starts at the peer and goes on to the
// left only while the one it has reached is trusted to have told the truth.

#ifndef LIMITREE_TREE_PROXIES_HPP
#define LIMITREE_TREE_PROXIES_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "tree/address.hpp"
#include "tree/forwarded.hpp"

namespace limitree {

class Proxies {
 public:
  struct Client {
    Address address;
    int believed;  // entries of the header that were followed
  };

  // Trusts nobody: the client is the peer.
  Proxies() = default;

  // Trusts the nearest `hops` proxies, or all in `networks` ("10.0.0.0/8",
  // "192.0.2.1", or "unix" for a peer without an address), one or the other.
  // Clients with IPv6 are grouped by the first `ipv6_prefix` bits.  Fails with
  // kInvalidConfig.
  static Result<Proxies> make(std::int32_t hops,
                              std::span<const std::string_view> networks,
                              ForwardedSyntax syntax, std::int32_t ipv6_prefix);

  // An entry that is no address ends the walk at the proxy that wrote it, as
  // the end of the header does.  Nothing, if the walk ends at a peer without an
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

// The first `ipv6_prefix` bits of an IPv6 address, zeros after them; an IPv4
// address as it is.
Address grouped(const Address& address, int ipv6_prefix);

// Fails with kInvalidConfig if there can be no such prefix.
Status check_ipv6_prefix(std::int32_t ipv6_prefix);

}  // namespace limitree

#endif  // LIMITREE_TREE_PROXIES_HPP
