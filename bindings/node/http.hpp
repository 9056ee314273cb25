// What an HTTP response says about a decision, as the core writes it.

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

}  // namespace limitree::node

#endif  // LIMITREE_NODE_HTTP_HPP
