// The field grpc-timeout.

#ifndef LIMITREE_SERVER_GRPC_TIMEOUT_HPP
#define LIMITREE_SERVER_GRPC_TIMEOUT_HPP

#include <optional>
#include <string_view>

#include "io/timer.hpp"

namespace limitree::server {

// Reads one to eight digits and a unit: H, M, S, m (1/1000 s), u or n.  Nothing
// if the text is anything else.
std::optional<Nanoseconds> parse_grpc_timeout(std::string_view text);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_GRPC_TIMEOUT_HPP
