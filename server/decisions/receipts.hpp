// Receipts of reservations, as clients send them.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "decisions/answers.hpp"
#include "limitree.h"
#include "limitree.hpp"

namespace limitree::server {

using ReceiptHandle =
    std::unique_ptr<limitree_receipt, Release<limitree_receipt_free>>;

// Null if `text` is not a receipt, with the reason in *why unless that is null.
ReceiptHandle read_receipt(std::string_view text, AnswerStatus* why);

// The text of a receipt; empty, with the reason in *why, if there is none.
std::string receipt_of(const limitree_hold& hold,
                       const std::vector<limitree_path>& paths,
                       AnswerStatus* why);

}  // namespace limitree::server
