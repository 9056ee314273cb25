// Errors of the library as clients and the log see them.

#ifndef LIMITREE_SERVER_SERVICES_FAILURES_HPP
#define LIMITREE_SERVER_SERVICES_FAILURES_HPP

#include <string>

#include "limitree.h"

namespace limitree::server {

// From any thread.
using FailureListener = void (*)(const std::string& why);

// Before other threads run.
void listen_to_failures(FailureListener listener);
void tell_failure(const std::string& why);

// What a client may read.  Where the store is, and what is wrong with it, is
// for the listener alone.
std::string message_for_client(limitree_status status,
                               const limitree_error* error);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_FAILURES_HPP
