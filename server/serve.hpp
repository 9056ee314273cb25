// `limitree serve`: the limit tree as a service.

#pragma once

#include "config/options.hpp"
#include "config/settings.hpp"
#include "io/failure.hpp"

namespace limitree::server {

// Serves until SIGTERM or SIGINT has ended all calls, or a second signal comes.
// SIGHUP reads the limits and the descriptors again.  Takes these signals for
// the whole process, whose other threads must not handle them.  Messages go to
// standard error.  Throws Failure, or what limitree.hpp throws, if it cannot
// start.
void serve(const ServeSettings& settings);

}  // namespace limitree::server
