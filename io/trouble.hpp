// Reports of what has gone wrong inside, which no client may read.

#pragma once

#include <string_view>

namespace limitree {

// From any thread.  `why` may be empty.
using TroubleListener = void (*)(std::string_view what, std::string_view why);

// Before other threads run.
void listen_to_trouble(TroubleListener listener);
// Needs no memory: that may be what is missing.
void tell_trouble(std::string_view what, std::string_view why = {});

// To be called where an exception is caught.
void tell_exception() noexcept;

// Runs `work`.  Returns false if it throws: the work is lost, the exception is
// reported, and all other work goes on.
template <typename Work>
bool guarded(const Work& work) noexcept {
  try {
    work();
    return true;
  } catch (...) {
    tell_exception();
    return false;
  }
}

}  // namespace limitree
