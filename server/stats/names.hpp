// Names that StatsD and Prometheus can carry.

#ifndef LIMITREE_SERVER_STATS_NAMES_HPP
#define LIMITREE_SERVER_STATS_NAMES_HPP

#include <string>
#include <string_view>

namespace limitree::server {

// Puts '_' in the place of ':', '|', control characters, bytes that are not
// UTF-8, and the dots of IPv4 addresses.
std::string clean_name(std::string_view name);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_STATS_NAMES_HPP
