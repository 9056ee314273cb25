// The memory store with a table for each bucket, so that nothing is ever
// forgotten: a clock that steps back, or a longer period, finds the old state,
// as in Redis.

#pragma once

#include <memory>

#include "store/clock.hpp"
#include "store/store.hpp"

namespace limitree {

std::unique_ptr<Store> make_roomy_store(Clock clock);

}  // namespace limitree
