// Statistics in the text format that Prometheus reads (version 0.0.4).

#ifndef LIMITREE_SERVER_STATS_PROMETHEUS_HPP
#define LIMITREE_SERVER_STATS_PROMETHEUS_HPP

#include <string>

#include "stats/snapshot.hpp"

namespace limitree::server {

// The names and labels are those that the mapper of envoyproxy/ratelimit makes
// from the names in StatsD.  Limits that differ only below their second key are
// one series.
std::string prometheus_text(const Snapshot& snapshot);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_STATS_PROMETHEUS_HPP
