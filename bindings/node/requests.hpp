// The calls that are made for each request.
//
// They bypass node-addon-api, whose wrappers take longer than a decision in
// memory.  Each is a JavaScript function that knows its Native; it takes the
// segments as arguments, and everything else from the array of layout.hpp.

#ifndef LIMITREE_NODE_REQUESTS_HPP
#define LIMITREE_NODE_REQUESTS_HPP

#include <napi.h>
#include <node_api.h>

#include "native.hpp"

namespace limitree::node {

// decide(...segments): writes the decision to the array.  May block while a
// store answers.
napi_value decide(napi_env env, napi_callback_info info);

// start(...segments): decide() without blocking.  Writes whether the answer
// comes later; JavaScript's deliver() then gets it.
napi_value start(napi_env env, napi_callback_info info);

// reset(...segments): forgets buckets; only those of the last node if the cost
// in the array is 0.  Returns a promise if a store has to be asked, else
// nothing.
napi_value reset(napi_env env, napi_callback_info info);

// shouldRateLimit(...): the answer, or a promise of it.  Throws Error.
Napi::Value should_rate_limit(Native& native, const Napi::CallbackInfo& info);

}  // namespace limitree::node

#endif  // LIMITREE_NODE_REQUESTS_HPP
