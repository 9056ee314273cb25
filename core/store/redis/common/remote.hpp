// What Redis shares with other remote stores, as if it were its own.

#ifndef LIMITREE_STORE_REDIS_COMMON_REMOTE_HPP
#define LIMITREE_STORE_REDIS_COMMON_REMOTE_HPP

#include "store/remote/common/failure.hpp"

namespace limitree::redis {

using namespace remote;  // NOLINT(google-build-using-namespace)
using remote::Failure;   // there is a limitree::Failure, too

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_COMMON_REMOTE_HPP
