// Messages of a status as a header field carries them.

#ifndef LIMITREE_SERVER_GRPC_PERCENT_HPP
#define LIMITREE_SERVER_GRPC_PERCENT_HPP

#include <string>
#include <string_view>

namespace limitree::server {

// Keeps printable ASCII but for '%'; every other byte becomes %XX.
std::string percent_encode(std::string_view text);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_GRPC_PERCENT_HPP
