// Every option of a limiter: name, default and meaning in one table.
//
// The names are the same in every language; docs/configuration.md shows this
// table, and a test holds the two together.

#ifndef LIMITREE_LIMITER_OPTIONS_HPP
#define LIMITREE_LIMITER_OPTIONS_HPP

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "store/clock.hpp"
#include "store/memory_store.hpp"

namespace limitree {

struct Options {
  std::string store = "memory://";
  std::int64_t max_buckets = MemoryStore::kDefaultMaxBuckets;
  Clock clock;
};

// Sets the option called `name` from its text.  kInvalidArgument if there is
// none of that name; kInvalidConfig if the text is not a value for it.
Status set_option(std::string_view name, std::string_view value,
                  Options* options);

// The table of options in Markdown, as docs/configuration.md shows it.
std::string options_markdown();

}  // namespace limitree

#endif  // LIMITREE_LIMITER_OPTIONS_HPP
