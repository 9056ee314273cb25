// The calls that are made for each request.
//
// They bypass node-addon-api, whose wrappers take longer than a decision in
// memory: each is a function of JavaScript's that knows its Native, takes the
// segments as arguments and everything else from the array of layout.hpp.

#ifndef LIMITREE_NODE_REQUESTS_HPP
#define LIMITREE_NODE_REQUESTS_HPP

#include <node_api.h>

namespace limitree::node {

// decide(...segments): writes the decision to the array.  May block while a
// store answers.
napi_value decide(napi_env env, napi_callback_info info);

// start(...segments): the same without blocking.  Writes whether the answer is
// still to come; then JavaScript's deliver() gets it.
napi_value start(napi_env env, napi_callback_info info);

// reset(...segments): forgets buckets, those of the last node alone if the
// array says that the cost is 0.  Returns a promise where a store has to be
// asked, else nothing.
napi_value reset(napi_env env, napi_callback_info info);

}  // namespace limitree::node

#endif  // LIMITREE_NODE_REQUESTS_HPP
