// What the error replies of Redis mean.

#ifndef LIMITREE_STORE_REDIS_COMMON_ERROR_REPLY_HPP
#define LIMITREE_STORE_REDIS_COMMON_ERROR_REPLY_HPP

#include <string_view>

#include "store/redis/common/remote.hpp"

namespace limitree::redis {

// The failure that an error reply reports, e.g. "READONLY You can't write ...".
Failure failure_of(std::string_view error_reply);

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_COMMON_ERROR_REPLY_HPP
