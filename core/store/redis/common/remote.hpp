// What Redis shares with other remote stores, as if it were its own.

#pragma once

#include "store/remote/common/failure.hpp"

namespace limitree::redis {

using namespace remote;  // NOLINT(google-build-using-namespace)
using remote::Failure;   // there is a limitree::Failure, too

}  // namespace limitree::redis
