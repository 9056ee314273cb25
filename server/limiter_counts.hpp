// What the limiter counts, for the statistics of the service.

#ifndef LIMITREE_SERVER_LIMITER_COUNTS_HPP
#define LIMITREE_SERVER_LIMITER_COUNTS_HPP

#include "limitree.h"
#include "stats/snapshot.hpp"

namespace limitree::server {

// Without the limits that no request has met, if there are many limits.  From
// any thread.  Throws what limitree.hpp throws.
LimiterCounts read_counts(limitree_limiter* limiter);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_LIMITER_COUNTS_HPP
