// From options to the store of a limiter, with what stands before it.

#ifndef LIMITREE_LIMITER_MAKE_STORE_HPP
#define LIMITREE_LIMITER_MAKE_STORE_HPP

#include <memory>

#include "base/status.hpp"
#include "limiter/options.hpp"
#include "store/store.hpp"

namespace limitree {

// The store that `options` ask for.  One that has to be asked over a network
// stands behind a GuardedStore, and that behind a DenyCache:
//
//   limiter -> deny cache -> on_store_error -> store
//
// kInvalidConfig if the options do not go together.  Connects to nothing.
Result<std::unique_ptr<Store>> make_store(const Options& options);

// `store` behind the two that `options` ask for.
std::unique_ptr<Store> behind_guards(std::unique_ptr<Store> store,
                                     const Options& options);

}  // namespace limitree

#endif  // LIMITREE_LIMITER_MAKE_STORE_HPP
