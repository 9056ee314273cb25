// How a call ended, in the terms of gRPC, and as fields of HTTP.

#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "h2/stream.hpp"
#include "io/timer.hpp"

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
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kUnauthenticated = 16,
};

struct GrpcStatus {
  GrpcCode code = GrpcCode::kOk;
  std::string message;
};

inline constexpr std::string_view kGrpcContentType = "application/grpc";

// `text`, cut between two characters if it is too long: some clients take no
// header of more than 8 KiB, and a byte may become three.
std::string short_message(std::string text);

// The value of grpc-timeout: one to eight digits and a unit: H, M, S, m (1/1000
// s), u or n.  Nothing if the text is anything else.
std::optional<Duration> parse_grpc_timeout(std::string_view text);

// The value of grpc-message: keeps printable ASCII except '%'; every other byte
// becomes %XX.
std::string percent_encode(std::string_view text);

// The fields that tell a status, as long as this is there.
class StatusFields {
 public:
  explicit StatusFields(const GrpcStatus& status)
      : code_(std::to_string(static_cast<int>(status.code))),
        message_(percent_encode(status.message)),
        fields_{Field{":status", "200"},
                Field{"content-type", kGrpcContentType},
                Field{"grpc-accept-encoding", "identity,gzip"},
                Field{"grpc-status", code_, false},
                Field{"grpc-message", message_, false}} {}

  // A response without messages.
  std::span<const Field> response() const { return fields_; }
  std::span<const Field> trailers() const { return response().subspan(3); }

 private:
  std::string code_;
  std::string message_;
  std::array<Field, 5> fields_;
};

}  // namespace limitree::server
