// Addresses of clients, for JavaScript.

#ifndef LIMITREE_NODE_ADDRESS_HPP
#define LIMITREE_NODE_ADDRESS_HPP

#include <napi.h>

namespace limitree::node {

// canonicalIp(address, ipv6Prefix): the address in its canonical form.
Napi::Value canonical_ip(const Napi::CallbackInfo& info);

// proxies(isForwarded, hops, trusted, ipv6Prefix): a function (peer, ...lines)
// that returns the client's address.
Napi::Value proxies(const Napi::CallbackInfo& info);

}  // namespace limitree::node

#endif  // LIMITREE_NODE_ADDRESS_HPP
