// gRPC on the connections of one loop.

#ifndef LIMITREE_SERVER_GRPC_GRPC_SERVER_HPP
#define LIMITREE_SERVER_GRPC_GRPC_SERVER_HPP

#include <memory>
#include <vector>

#include "grpc/call.hpp"
#include "grpc/method.hpp"
#include "h2/stream.hpp"

namespace limitree::server {

// Makes calls for streams, and keeps those that have ended for others.
class GrpcServer final : public Application {
 public:
  // `observer` may be null.
  GrpcServer(const MethodTable* methods, Timers* timers, CallObserver* observer)
      : methods_(methods), timers_(timers), observer_(observer) {}

  Stream* open() override {
    if (free_.empty()) return new Call(methods_, timers_, observer_);
    Call* const call = free_.back().release();
    free_.pop_back();
    return call;
  }

  void release(Stream* stream) override {
    std::unique_ptr<Call> call(static_cast<Call*>(stream));
    if (free_.size() < kMaxFree) free_.push_back(std::move(call));
  }

 private:
  static constexpr std::size_t kMaxFree = 1024;

  const MethodTable* methods_;
  Timers* timers_;
  CallObserver* observer_;
  std::vector<std::unique_ptr<Call>> free_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_GRPC_GRPC_SERVER_HPP
