// What a web server needs from the core: the addresses of clients, and what a
// response says about a decision.

#ifndef LIMITREE_NODE_HTTP_HPP
#define LIMITREE_NODE_HTTP_HPP

#include <napi.h>

namespace limitree::node {

// The decision and its levels lie in the array of numbers at kInputSize.
// `policies` has the name of each level; undefined: the levels are not known.

// httpHeaders(style, nowMs, policies): names and values in turn.
Napi::Value http_headers_of(const Napi::CallbackInfo& info);

// httpProblem(status, policies): the text of the body.
Napi::Value http_problem_of(const Napi::CallbackInfo& info);

// canonicalIp(address, ipv6Prefix): the address in its canonical form.
Napi::Value canonical_ip(const Napi::CallbackInfo& info);

// proxies(isForwarded, hops, trusted, ipv6Prefix): a function (peer, ...lines)
// that returns the client's address.
Napi::Value proxies(const Napi::CallbackInfo& info);

}  // namespace limitree::node

#endif  // LIMITREE_NODE_HTTP_HPP
