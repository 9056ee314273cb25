// What to do about answers that came too late.
//
// A client may have given a request up while the answer was on its way.  Then
// it resets a stream that has ended here.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "net/client_request.hpp"
#include "net/memory_budget.hpp"

namespace limitree::server {

// Those of the latest answers of one connection: a reset comes soon, or never.
class Rollbacks {
 public:
  explicit Rollbacks(MemoryShare* memory) : memory_(memory) {}

  // The stream has ended.
  void add(std::int32_t stream, std::unique_ptr<Rollback> rollback);
  // The client has reset a stream that has ended.
  void run(std::int32_t stream);
  // No exception ends a connection for something that is over.
  static void run(Rollback* rollback) noexcept;

 private:
  struct Answered {
    std::int32_t stream;
    std::unique_ptr<Rollback> rollback;
  };

  std::unique_ptr<Rollback> take(const std::deque<Answered>::iterator& at);

  MemoryShare* memory_;
  std::deque<Answered> answered_;
};

}  // namespace limitree::server
