// How a call ended, in the words of gRPC.

#ifndef LIMITREE_SERVER_GRPC_STATUS_HPP
#define LIMITREE_SERVER_GRPC_STATUS_HPP

#include <string>

namespace limitree::server {

// The numbers are those on the wire.
enum class GrpcCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kUnauthenticated = 16,
};

struct GrpcStatus {
  GrpcCode code = GrpcCode::kOk;
  std::string message;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_GRPC_STATUS_HPP
