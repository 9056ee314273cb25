// What the service asks the system to do for its process.

#pragma once

#include <cstddef>

#include "io/fd.hpp"

namespace limitree::server {

// Raises the limit of descriptors as far as the system allows, and returns it:
// each connection needs one.
std::size_t raise_descriptor_limit();

// SIGTERM, SIGINT and SIGHUP as bytes of a descriptor that does not block. This
// thread and those that it starts no longer get them in another way.  Throws
// Failure.
Fd watch_signals();

}  // namespace limitree::server
