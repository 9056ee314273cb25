// /v1/limits/NAME: limits that a control plane puts beside those of the file.

#pragma once

#include "decisions/put_limits.hpp"
#include "http/handler.hpp"
#include "net/access.hpp"

namespace limitree::server {

// Belongs to the thread of one loop.
class LimitPages {
 public:
  // Both outlive this.  Everybody needs the token.
  LimitPages(PutLimits* limits, const AdminToken* token)
      : limits_(limits), token_(token) {}

  void add_to(HandlerTable* handlers);

 private:
  void serve(Exchange* exchange) const;

  PutLimits* limits_;
  const AdminToken* token_;
};

}  // namespace limitree::server
