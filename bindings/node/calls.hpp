// The functions of JavaScript that are not in addon.cpp itself.

#pragma once

#include <napi.h>
#include <node_api.h>

#include "native.hpp"

namespace limitree::node {

// ---- For each request -------------------------------------------------------
//
// These bypass node-addon-api, whose wrappers take longer than a decision in
// memory.  Each is a JavaScript function that knows its Native; it takes the
// segments as arguments, and everything else from the array of layout.hpp.

// decide(...segments): writes the decision to the array.  May block while a
// store answers.  Returns the receipt of a reservation.
napi_value decide(napi_env env, napi_callback_info info);

// start(...segments): decide() without blocking.  Writes whether the answer
// comes later; JavaScript's deliver() then gets it.  Returns a receipt at once.
napi_value start(napi_env env, napi_callback_info info);

// explain(...segments): a text.
napi_value explain(napi_env env, napi_callback_info info);

// shouldRateLimit(...): the answer, or a promise of it.  Throws Error.
Napi::Value should_rate_limit(Native& native, const Napi::CallbackInfo& info);

// ---- A client that sends the commands of a store ---------------------------

// runLoop(): sends what was started, and delivers answers.  Returns after how
// many milliseconds it must be called again; -1: only after another event.
Napi::Value run_loop(const Napi::CallbackInfo& info);

// takeCommands(): arrays of a token, the place of the first key among the words
// (0: there is none) and the words, which are texts or buffers.
Napi::Value take_commands(const Napi::CallbackInfo& info);

// reply(token, reply, text): as limitree_client_reply.
Napi::Value reply(const Napi::CallbackInfo& info);

// ---- What a web server needs: addresses, and texts about a decision ---------

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
