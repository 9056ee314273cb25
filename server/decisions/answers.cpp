#include "decisions/answers.hpp"

#include "io/trouble.hpp"

namespace limitree::server {

namespace {

// Null: the client may read the error itself.
const char* text_instead_of(limitree_status status) {
  switch (status) {
    case LIMITREE_STORE_UNAVAILABLE:
      return "the store does not answer";
    case LIMITREE_STORE_TIMEOUT:
      return "the store does not answer in time";
    case LIMITREE_STORE_PROTOCOL:
      return "the store does not answer as it should";
    case LIMITREE_INTERNAL:
      return "the server has made a mistake";
    default:
      return nullptr;
  }
}

}  // namespace

std::string message_for_client(limitree_status status,
                               const limitree_error* error) {
  const char* const text = text_instead_of(status);
  const char* const own = error != nullptr ? limitree_error_message(error)
                                           : limitree_status_name(status);
  if (text == nullptr) return own;
  tell_trouble(own);
  return text;
}

}  // namespace limitree::server
