// Reading requests: what is not valid protobuf is answered with a status.

#ifndef LIMITREE_SERVER_SERVICES_MESSAGES_HPP
#define LIMITREE_SERVER_SERVICES_MESSAGES_HPP

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <string_view>

#include "grpc/call.hpp"

namespace limitree::server {

inline protozero::pbf_reader reader_of(std::string_view message) {
  return protozero::pbf_reader(message.data(), message.size());
}

inline std::string_view view_of(protozero::data_view text) {
  return {text.data(), text.size()};
}

// Not get_bool(), which reads beyond a message that ends before the value, and
// only the first byte of a value.
inline bool flag_of(protozero::pbf_reader* reader) {
  return reader->get_uint64() != 0;
}

// Runs `read()`; finishes the call and returns false if the message that it
// reads is malformed.
template <typename Read>
bool read_or_refuse(Call* call, const Read& read) {
  try {
    read();
    return true;
  } catch (const protozero::exception&) {
    call->finish({GrpcCode::kInvalidArgument,
                  "the request is no valid protobuf message"});
    return false;
  }
}

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_MESSAGES_HPP
