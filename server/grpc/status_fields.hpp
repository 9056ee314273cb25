// A status as fields of HTTP.

#ifndef LIMITREE_SERVER_GRPC_STATUS_FIELDS_HPP
#define LIMITREE_SERVER_GRPC_STATUS_FIELDS_HPP

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "grpc/fields.hpp"
#include "grpc/status.hpp"
#include "h2/stream.hpp"

namespace limitree::server {

inline constexpr std::string_view kGrpcContentType = "application/grpc";

// `text`, cut between two characters if it is too long: some clients take no
// header of more than 8 KiB, and a byte may become three.
inline std::string short_message(std::string text) {
  constexpr std::size_t kMost = 2000;
  if (text.size() <= kMost) return text;
  std::size_t size = kMost;
  while (size > 0 && (text[size] & 0xc0) == 0x80) --size;
  text.resize(size);
  return text + "...";
}

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

#endif  // LIMITREE_SERVER_GRPC_STATUS_FIELDS_HPP
