// What OpenSSL says about its last failure.

#ifndef LIMITREE_IO_TLS_ERRORS_HPP
#define LIMITREE_IO_TLS_ERRORS_HPP

#include <string>

namespace limitree::server {

// Takes the errors of this thread: "no such file or directory", "no start
// line".
std::string take_tls_error();

}  // namespace limitree::server

#endif  // LIMITREE_IO_TLS_ERRORS_HPP
