// What a server learns of its calls.

#ifndef LIMITREE_SERVER_GRPC_CALL_OBSERVER_HPP
#define LIMITREE_SERVER_GRPC_CALL_OBSERVER_HPP

#include <cstddef>

#include "grpc/status.hpp"
#include "io/timer.hpp"
#include "trace/context.hpp"

namespace limitree::server {

// A call that a method had to answer.
struct CallReport {
  std::size_t method;  // Method::number()
  Monotonic begun;     // of the turn in which its header came
  GrpcCode code;       // kCancelled if the client did not wait
  const TraceFields& trace;
};

// Belongs to the thread of one loop.
class CallObserver {
 public:
  // Whether calls collect the fields that CallReport::trace is made of.
  virtual bool wants_trace() const = 0;
  // A unary call is over, whose message a method was given.
  virtual void on_over(const CallReport& report) = 0;

 protected:
  ~CallObserver() = default;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_GRPC_CALL_OBSERVER_HPP
