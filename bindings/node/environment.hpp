// The data of one JavaScript thread: the array of numbers, the JavaScript
// functions that native code calls, and the limiters, which must be released
// before the thread ends.

#pragma once

#include <napi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "layout.hpp"
#include "limitree.hpp"

namespace limitree::node {

inline Error out_of_memory() {
  return Error(LIMITREE_OUT_OF_MEMORY, {"out of memory"});
}

// An object that has to be closed before the thread ends.
class Closable {
 public:
  virtual void close() = 0;

 protected:
  ~Closable() = default;
};

class Environment {
 public:
  explicit Environment(Napi::Env env);
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  static Environment& of(napi_env env);

  napi_env env() const { return env_; }

  // The array of layout.hpp.
  double* numbers() const { return numbers_; }
  Napi::Value array() const { return array_.Value(); }

  // The last time of JavaScript's clock.
  std::int64_t now_ns() const {
    return static_cast<std::int64_t>(numbers_[kNowSeconds]) * 1'000'000'000 +
           static_cast<std::int64_t>(numbers_[kNowRest]);
  }

  // Sets JavaScript's `make_error(status, reason, messages)` and
  // `deliver(count, errors)`.
  void connect(Napi::Function make_error, Napi::Function deliver);

  // Returns the result of make_error; empty if it threw, which is then pending.
  Napi::Value error_value(const Error& error) const;
  // Throws it into JavaScript.
  void raise(const Error& error) const;

  // Calls JavaScript's deliver(); throws Napi::Error.
  void call_deliver(std::size_t count, Napi::Array errors) const;

  // Runs a function that calls JavaScript.  Code that waits for its promises
  // continues before this returns.  REQUIRES: called by the event loop.
  void run_from_loop(const std::function<void()>& function) const;

  // Open limiters, each of which has something to close.
  void add(Closable* limiter) { open_.insert(limiter); }
  void remove(Closable* limiter) { open_.erase(limiter); }

  // Prepares for libuv handles: for their calls, and for the end of the thread,
  // which waits until they are closed.  Called only when a handle is needed,
  // because Deno crashes at its end if this was called.
  void will_watch();
  // A libuv handle is closing.
  void closing() { ++closing_; }
  void closed();

  // Whether JavaScript has ended.
  bool is_ending() const { return is_ending_; }

 private:
  // Closes the limiters.
  void end();

  const napi_env env_;
  Napi::Reference<Napi::Float64Array> array_;
  double* numbers_;
  Napi::FunctionReference make_error_;
  Napi::FunctionReference deliver_;
  std::optional<Napi::AsyncContext> context_;
  napi_async_cleanup_hook_handle hook_ = nullptr;
  std::unordered_set<Closable*> open_;
  std::size_t closing_ = 0;
  bool is_ending_ = false;
};

// Runs kFunction(info), and throws its errors into JavaScript.
template <Napi::Value (*kFunction)(const Napi::CallbackInfo&)>
Napi::Value guarded(const Napi::CallbackInfo& info) {
  try {
    return kFunction(info);
  } catch (const Error& error) {
    Environment::of(info.Env()).raise(error);
  } catch (const std::bad_alloc&) {
    Environment::of(info.Env()).raise(out_of_memory());
  }
  return info.Env().Undefined();
}

inline Napi::String to_string(Napi::Env env, std::string_view text) {
  return Napi::String::New(env, text.data(), text.size());
}

}  // namespace limitree::node
