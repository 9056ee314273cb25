// Receipts of reservations, as clients send them.

#ifndef LIMITREE_SERVER_DECISIONS_RECEIPTS_HPP
#define LIMITREE_SERVER_DECISIONS_RECEIPTS_HPP

#include <memory>
#include <string_view>

#include "decisions/decider.hpp"
#include "limitree.h"
#include "limitree.hpp"

namespace limitree::server {

using ReceiptHandle =
    std::unique_ptr<limitree_receipt, Release<limitree_receipt_free>>;

// Null if `text` is not a receipt, with the reason in *why unless that is null.
ReceiptHandle read_receipt(std::string_view text, AnswerStatus* why);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_DECISIONS_RECEIPTS_HPP
