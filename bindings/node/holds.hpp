// Requests about reservations.

#pragma once

#include <node_api.h>

#include <cstddef>

#include "limitree.h"
#include "request.hpp"

namespace limitree::node {

// Where the answer of a request goes.
struct Room {
  void* pending = nullptr;  // for its completion; null: the call waits for it
  limitree_level* levels = nullptr;  // null: not wanted
  std::size_t level_capacity = 0;
  limitree_decision* decision = nullptr;
};

// Reserves, settles, cancels or extends, as limitree.h has it.  *receipt
// becomes the text of a reservation; it stays null if there was no memory for
// it, and what is held then ends by itself.
limitree_status ask_for_hold(const Request& request, const Room& room,
                             napi_value* receipt, limitree_error** error);

}  // namespace limitree::node
