// Messages that are compressed with grpc-encoding: gzip.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace limitree::server {

enum class Unpacked { kDone, kTooLarge, kMalformed };

// Unpacks all of `packed` into *message.  Ends with kTooLarge as soon as there
// would be more than `most` bytes, and never needs memory for more.
Unpacked unpack_gzip(std::string_view packed, std::size_t most,
                     std::string* message);

// Prefers speed to a small result.
std::string pack_gzip(std::string_view message);

}  // namespace limitree::server
