#include "io/tls_errors.hpp"

#include <openssl/err.h>

#include "io/failure.hpp"

namespace limitree::server {

std::string take_tls_error() {
  // The first error is the cause; those after it only say what then failed.
  const unsigned long error = ERR_peek_error();
  ERR_clear_error();
  if (ERR_GET_LIB(error) == ERR_LIB_SYS) {
    return error_text(static_cast<int>(ERR_GET_REASON(error)));
  }
  const char* const reason = ERR_reason_error_string(error);
  return reason != nullptr ? reason : "unknown error";
}

}  // namespace limitree::server
