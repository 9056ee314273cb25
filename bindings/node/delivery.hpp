// How answers of a store reach the promises that wait for them: as rows of
// numbers, many in one call of JavaScript's deliver().

#ifndef LIMITREE_NODE_DELIVERY_HPP
#define LIMITREE_NODE_DELIVERY_HPP

#include <memory>
#include <span>

#include "engine.hpp"
#include "native.hpp"

namespace limitree::node {

// A request that is under way.  The library has it from PENDING to its answer.
struct Pending {
  double slot;                               // JavaScript's name for it
  std::unique_ptr<limitree_level[]> levels;  // null if nobody asked for them
};

// Hands out `answers` from within a call of JavaScript's: who waits goes on
// when that call is over.  Throws Napi::Error.
void deliver(Native& native, std::span<const Answer> answers);

// The same from the event loop, where they go on at once.
void deliver_from_loop(Native& native, std::span<const Answer> answers);

}  // namespace limitree::node

#endif  // LIMITREE_NODE_DELIVERY_HPP
