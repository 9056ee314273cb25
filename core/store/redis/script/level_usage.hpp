// Reads the word that a script replies about a level.

#ifndef LIMITREE_STORE_REDIS_SCRIPT_LEVEL_USAGE_HPP
#define LIMITREE_STORE_REDIS_SCRIPT_LEVEL_USAGE_HPP

#include <string_view>

#include "base/plan.hpp"

namespace limitree::redis {

// Sets *usage of a level that is not plain from its word.  False if it is not
// such a word.
bool read_usage(const Plan& plan, const Level& level, std::string_view word,
                Instant now, Usage* usage);

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_SCRIPT_LEVEL_USAGE_HPP
