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

std::string receipt_of(const limitree_hold& hold,
                       const std::vector<limitree_path>& paths,
                       AnswerStatus* why) {
  limitree_text* text = nullptr;
  limitree_error* error = nullptr;
  why->status =
      limitree_receipt_text(&hold, paths.data(), paths.size(), &text, &error);
  const TextHandle owner(text);
  const ErrorHandle error_owner(error);
  if (why->status < 0) {
    why->message = message_for_client(why->status, error);
    return {};
  }
  const limitree_str view = limitree_text_str(text);
  return {view.data, view.size};
}

ReceiptHandle read_receipt(std::string_view text, AnswerStatus* why) {
  limitree_receipt* receipt = nullptr;
  limitree_error* error = nullptr;
  const limitree_status status =
      limitree_receipt_new({text.data(), text.size()}, &receipt, &error);
  const ErrorHandle owner(error);
  if (status < 0 && why != nullptr) {
    why->status = status;
    why->message = message_for_client(status, error);
  }
  return ReceiptHandle(receipt);
}

}  // namespace limitree::server
