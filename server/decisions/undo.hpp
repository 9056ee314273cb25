// Gives back what was held for clients that have gone.

#ifndef LIMITREE_SERVER_DECISIONS_UNDO_HPP
#define LIMITREE_SERVER_DECISIONS_UNDO_HPP

#include <string>

#include "decisions/store_loop.hpp"
#include "limitree.h"

namespace limitree::server {

// Nobody waits for its answers, and what fails ends with its hold.  Belongs to
// the thread of one loop.
class Undo {
 public:
  // Both outlive this.
  Undo(limitree_limiter* limiter, StoreLoop* store_loop)
      : limiter_(limiter), store_loop_(store_loop) {}

  // A reservation.
  void cancel(const std::string& receipt);
  // A request of Envoy.
  void settle(limitree_envoy_request asked);

 private:
  limitree_limiter* limiter_;
  StoreLoop* store_loop_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_DECISIONS_UNDO_HPP
