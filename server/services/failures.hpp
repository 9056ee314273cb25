// Errors of the library as clients and the log see them.

#ifndef LIMITREE_SERVER_SERVICES_FAILURES_HPP
#define LIMITREE_SERVER_SERVICES_FAILURES_HPP

#include <string>

#include "limitree.h"

namespace limitree::server {

// What a client may read.  Where the store is, and what is wrong with it, is
// for the log alone: see tell_trouble().
std::string message_for_client(limitree_status status,
                               const limitree_error* error);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_FAILURES_HPP
