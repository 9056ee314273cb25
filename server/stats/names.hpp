// Names that StatsD and Prometheus can carry.

#ifndef LIMITREE_SERVER_STATS_NAMES_HPP
#define LIMITREE_SERVER_STATS_NAMES_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace limitree::server {

// How many bytes the first character of `text` has, which is not empty; 0 if
// these bytes are not UTF-8.
std::size_t character_size(std::string_view text);

// Puts '_' in the place of ':', '|', control characters, bytes that are not
// UTF-8, and the dots of IPv4 addresses.
std::string clean_name(std::string_view name);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_STATS_NAMES_HPP
