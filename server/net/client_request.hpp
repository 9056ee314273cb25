// A request that a client waits for: a call of gRPC or a request of HTTP.

#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "io/timer.hpp"
#include "net/block_memory.hpp"

namespace limitree::server {

// What is kept for a request that is not answered yet.  Destroyed when the
// request is over for any reason: answered, cancelled, too late.
class RequestState : public InBlockMemory {
 public:
  virtual ~RequestState() = default;
};

// What to do if the client does not take the answer.
class Rollback {
 public:
  Rollback() = default;
  virtual ~Rollback() = default;
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;

  virtual void run() = 0;
  // About its memory.
  virtual std::size_t bytes() const = 0;
};

// Belongs to the thread of one loop.
class ClientRequest {
 public:
  // Until the client gives up; kNever if it does not.
  virtual Duration time_left() const = 0;
  // Answers with an error of the server, regardless of what the answer has so
  // far.
  virtual void fail_inside() = 0;

  // The answer destroys `state`, so the code that answers must not keep it.
  void keep(std::unique_ptr<RequestState> state) { state_ = std::move(state); }

  // Runs `rollback` if the answer, which follows, comes too late for the
  // client, where its protocol can tell.
  virtual void unless_taken(std::unique_ptr<Rollback> /*rollback*/) {}

 protected:
  ~ClientRequest() = default;

  void drop_state() { state_.reset(); }

 private:
  std::unique_ptr<RequestState> state_;
};

}  // namespace limitree::server
