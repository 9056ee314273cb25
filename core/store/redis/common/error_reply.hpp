// What the error replies of Redis mean.

#pragma once

#include <string_view>

#include "store/redis/common/remote.hpp"

namespace limitree::redis {

// The failure that an error reply reports, e.g. "READONLY You can't write ...".
Failure failure_of(std::string_view error_reply);

}  // namespace limitree::redis
