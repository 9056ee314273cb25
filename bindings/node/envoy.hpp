// Requests of Envoy from JavaScript.  node/src/envoy.ts makes the arguments,
// and turns the results into answers.

#pragma once

#include <napi.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engine.hpp"
#include "environment.hpp"
#include "limitree.hpp"

namespace limitree::node {

// A request, and room for its answer.
class EnvoyCall {
 public:
  // The arguments are (domain, descriptors, hitsAddend, flags, resets).  Each
  // descriptor is an array: keys and values in turn, the flags of limitree.h,
  // hits, and the requests per unit, the unit and its multiplier of a limit.
  // Throws Error for a text that has no form in UTF-8.
  explicit EnvoyCall(const Napi::CallbackInfo& info);
  EnvoyCall(const EnvoyCall&) = delete;
  EnvoyCall& operator=(const EnvoyCall&) = delete;
  ~EnvoyCall() { limitree_text_free(response_.metadata); }

  // Asks or resets without waiting; `request` as in
  // limitree_should_rate_limit_async.
  limitree_status ask(limitree_limiter* limiter, void* request,
                      limitree_error** error);

  // The answer as an array: overLimit, flags, source, headerStatus, metadata,
  // statuses.
  Napi::Array answer(Napi::Env env) const;

  // The promise of a pending request, which settle() takes the outcome to.  One
  // that is never settled would stay in memory.
  Napi::Promise begin(Napi::Env env);
  void settle(const Environment& environment, const Answer& outcome) const;

 private:
  limitree_str keep(const Napi::Value& text);
  void add(const Napi::Array& descriptor);

  std::optional<Napi::Promise::Deferred> promise_;
  std::deque<std::string> texts_;
  std::vector<std::vector<limitree_entry>> entries_;
  std::vector<limitree_descriptor> list_;
  std::vector<limitree_descriptor_status> statuses_;
  limitree_envoy_request request_{};
  bool resets_ = false;  // the answer means nothing then
  limitree_envoy_response response_{};
};

}  // namespace limitree::node
