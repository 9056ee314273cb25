// Delivers the answers of a store to their promises: as rows of numbers, many
// in one call of JavaScript's deliver().

#ifndef LIMITREE_NODE_DELIVERY_HPP
#define LIMITREE_NODE_DELIVERY_HPP

#include <memory>
#include <span>

#include "engine.hpp"
#include "envoy.hpp"
#include "native.hpp"

namespace limitree::node {

// A pending request.  The library owns it from PENDING to its answer.
struct Pending {
  double slot;                               // its name in JavaScript
  std::unique_ptr<limitree_level[]> levels;  // null: not wanted
  // Null: a decision is wanted.  Else its own promise takes the answer.
  std::unique_ptr<EnvoyCall> envoy;
};

// Delivers `answers` inside a call from JavaScript: waiting code continues
// after that call.  Throws Napi::Error.
void deliver(Native& native, std::span<const Answer> answers);

// The same from the event loop: waiting code continues at once.
void deliver_from_loop(Native& native, std::span<const Answer> answers);

}  // namespace limitree::node

#endif  // LIMITREE_NODE_DELIVERY_HPP
