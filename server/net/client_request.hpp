// What a client waits for the answer of: a call of gRPC, a request of HTTP.

#ifndef LIMITREE_SERVER_NET_CLIENT_REQUEST_HPP
#define LIMITREE_SERVER_NET_CLIENT_REQUEST_HPP

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

// Belongs to the thread of one loop.
class ClientRequest {
 public:
  // Until the client gives up; kNever if it does not.
  virtual Duration time_left() const = 0;
  // Answers that the server has made a mistake, whatever the answer has so far.
  virtual void fail_inside() = 0;

  // Destroyed by the answer, so not to be kept by what answers.
  void keep(std::unique_ptr<RequestState> state) { state_ = std::move(state); }

 protected:
  ~ClientRequest() = default;

  void drop_state() { state_.reset(); }

 private:
  std::unique_ptr<RequestState> state_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_NET_CLIENT_REQUEST_HPP
