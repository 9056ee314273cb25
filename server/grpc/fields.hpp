// Texts of header fields: grpc-timeout and grpc-message.

#ifndef LIMITREE_SERVER_GRPC_FIELDS_HPP
#define LIMITREE_SERVER_GRPC_FIELDS_HPP

#include <optional>
#include <string>
#include <string_view>

#include "io/timer.hpp"

namespace limitree::server {

// Reads one to eight digits and a unit: H, M, S, m (1/1000 s), u or n.  Nothing
// if the text is anything else.
std::optional<Duration> parse_grpc_timeout(std::string_view text);

// Keeps printable ASCII except '%'; every other byte becomes %XX.
std::string percent_encode(std::string_view text);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_GRPC_FIELDS_HPP
