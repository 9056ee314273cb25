// Certificates that are read again when their files change.

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "io/file_state.hpp"

namespace limitree {

// `Context` is TlsContext or TlsClientContext.
template <typename Context>
class TlsFiles {
 public:
  // Throws Failure.
  explicit TlsFiles(typename Context::Settings settings)
      : settings_(std::move(settings)),
        state_(state()),
        tried_(state_),
        context_(Context::load(settings_)) {}

  const std::shared_ptr<const Context>& context() const { return context_; }

  // Whether one of the files has changed since the last refresh(), whatever
  // came of it.
  bool has_changed() const { return state() != tried_; }

  // Loads the files again if one of them is another file or has changed since
  // they were loaded.  Returns whether there is a new context.  Throws Failure
  // and keeps the context if the files are not valid, or cannot be read now.
  bool refresh() {
    std::string now = state();
    tried_ = now;
    if (now == state_) return false;
    context_ = Context::load(settings_);
    state_ = std::move(now);
    return true;
  }

 private:
  // What tells versions of the files apart.  Symbolic links are followed.
  std::string state() const {
    std::string all;
    for (const std::string& file : Context::files(settings_)) {
      all += file_state(file) + '|';
    }
    return all;
  }

  typename Context::Settings settings_;
  std::string state_;  // when context_ was loaded
  std::string tried_;  // at the last refresh()
  std::shared_ptr<const Context> context_;
};

}  // namespace limitree
