// Calls that may take long and are not made per request, on a thread of libuv's
// pool.

#ifndef LIMITREE_NODE_POOL_CALL_HPP
#define LIMITREE_NODE_POOL_CALL_HPP

#include <napi.h>

#include <functional>

#include "limitree.h"
#include "native.hpp"

namespace limitree::node {

// A call, which may write one number.
using PoolFunction =
    std::function<limitree_status(Engine&, double*, limitree_error**)>;

// Returns a promise of the number, or of the error.
Napi::Promise run_in_pool(Native& native, PoolFunction function);

}  // namespace limitree::node

#endif  // LIMITREE_NODE_POOL_CALL_HPP
