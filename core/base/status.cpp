#include "base/status.hpp"

namespace limitree {

namespace {

// Never destroyed: threads may outlive the statics of a process.
Error* const kOutOfMemoryError =
    new Error{Code::kOutOfMemory, {"no memory"}, "", true};
Error* const kClosedError =
    new Error{Code::kCancelled, {"the limiter is closed"}, "", true};

}  // namespace

Status Status::no_memory() noexcept { return Status(kOutOfMemoryError); }

Status Status::limiter_is_closed() noexcept { return Status(kClosedError); }

}  // namespace limitree
