// Reports of what has gone wrong inside, which no client may read.

#ifndef LIMITREE_IO_TROUBLE_HPP
#define LIMITREE_IO_TROUBLE_HPP

#include <string>

namespace limitree {

// From any thread.
using TroubleListener = void (*)(const std::string& what);

// Before other threads run.
void listen_to_trouble(TroubleListener listener);
void tell_trouble(const std::string& what);

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

#endif  // LIMITREE_IO_TROUBLE_HPP
