#include "decisions/receipts.hpp"

namespace limitree::server {

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
