#include "environment.hpp"

namespace limitree::node {

Environment::Environment(Napi::Env env)
    : env_(env),
      array_(Napi::Persistent(Napi::Float64Array::New(env, kArraySize))),
      numbers_(array_.Value().Data()) {
  napi_add_env_cleanup_hook(
      env_, [](void* self) { static_cast<Environment*>(self)->end(); }, this);
}

Environment& Environment::of(napi_env env) {
  return *Napi::Env(env).GetInstanceData<Environment>();
}

void Environment::connect(Napi::Function make_error, Napi::Function deliver) {
  make_error_ = Napi::Persistent(make_error);
  deliver_ = Napi::Persistent(deliver);
}

Napi::Value Environment::error_value(const Error& error) const {
  const Napi::Array messages = Napi::Array::New(env_);
  for (const std::string& message : error.messages()) {
    messages.Set(messages.Length(), message);
  }
  return make_error_.Call(
      {Napi::String::New(env_, limitree_status_name(error.status())),
       Napi::String::New(env_, error.reason()), messages});
}

void Environment::raise(const Error& error) const {
  try {
    napi_throw(env_, error_value(error));
  } catch (const Napi::Error& failure) {
    failure.ThrowAsJavaScriptException();
  }
}

void Environment::call_deliver(std::size_t count, Napi::Array errors) const {
  deliver_.Call({Napi::Number::New(env_, static_cast<double>(count)), errors});
}

void Environment::run_from_loop(const std::function<void()>& function) const {
  if (is_ending_ || !context_) return;
  const Napi::HandleScope scope(env_);
  try {
    const Napi::CallbackScope callback(env_, *context_);
    try {
      function();
    } catch (const Napi::Error& failure) {
      napi_fatal_exception(env_, failure.Value());
    }
  } catch (const Napi::Error&) {
    // The thread is ending: nothing waits for this any more.
  }
}

// The hook runs before that of the constructor, because it was added later.
void Environment::will_watch() {
  if (context_) return;
  context_.emplace(env_, "limitree");
  napi_add_async_cleanup_hook(
      env_,
      [](napi_async_cleanup_hook_handle hook, void* self) {
        auto& environment = *static_cast<Environment*>(self);
        environment.end();
        if (environment.closing_ == 0) napi_remove_async_cleanup_hook(hook);
      },
      this, &hook_);
}

void Environment::closed() {
  if (--closing_ == 0 && is_ending_) napi_remove_async_cleanup_hook(hook_);
}

void Environment::end() {
  is_ending_ = true;
  // Each one removes itself from the set.
  while (!open_.empty()) (*open_.begin())->close();
}

}  // namespace limitree::node
