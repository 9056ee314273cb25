// Answers to what clients have asked the limiter.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limitree.h"
#include "limitree.hpp"
#include "net/client_request.hpp"

namespace limitree::server {

// Why a request has failed, if `status` is below 0.
struct AnswerStatus {
  limitree_status status = LIMITREE_OK;
  std::string message;  // for the client
};

struct LimiterAnswer : AnswerStatus {
  const limitree_decision* decision = nullptr;  // null after a reset
  std::span<const limitree_level> levels;       // those for which there is room
  bool omits_levels = false;
  std::string receipt;  // of what was reserved
  // Not null: the answer is only how many levels still held, by this name.
  const char* counts = nullptr;
};

struct EnvoyAnswer : AnswerStatus {
  EnvoyAnswer() = default;
  ~EnvoyAnswer() { limitree_text_free(response.metadata); }
  EnvoyAnswer(const EnvoyAnswer&) = delete;
  EnvoyAnswer& operator=(const EnvoyAnswer&) = delete;

  limitree_envoy_response response{};
  std::span<const limitree_descriptor_status> statuses;
};

// Writes answers in the form of one protocol.  This ends the request, which was
// given to the Decider with this sink.
class AnswerSink {
 public:
  virtual void answer(ClientRequest* request,
                      const LimiterAnswer& answer) const = 0;
  virtual void answer(ClientRequest* request,
                      const EnvoyAnswer& answer) const = 0;

 protected:
  ~AnswerSink() = default;
};

// The part of an error that a client may read; the error may be NULL.  The
// address of the store and its trouble go only to the log: see tell_trouble().
std::string message_for_client(limitree_status status,
                               const limitree_error* error);

// ---- Receipts of reservations, as clients send them -------------------------

using ReceiptHandle =
    std::unique_ptr<limitree_receipt, Release<limitree_receipt_free>>;

// Null if `text` is not a receipt, with the reason in *why unless that is null.
ReceiptHandle read_receipt(std::string_view text, AnswerStatus* why);

// The text of a receipt; empty, with the reason in *why, if there is none.
std::string receipt_of(const limitree_hold& hold,
                       const std::vector<limitree_path>& paths,
                       AnswerStatus* why);

}  // namespace limitree::server
