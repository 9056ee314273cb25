#include "base/status.hpp"

namespace limitree {

namespace {

// Never destroyed: threads may outlive the statics of a process.
Error* const g_no_memory =
    new Error{Code::kOutOfMemory, {"no memory"}, "", true};
Error* const g_limiter_is_closed =
    new Error{Code::kCancelled, {"the limiter is closed"}, "", true};

}  // namespace

Status Status::no_memory() noexcept { return Status(g_no_memory); }

Status Status::limiter_is_closed() noexcept {
  return Status(g_limiter_is_closed);
}

}  // namespace limitree
