// decide_mixed.lua's side of a level: what it is told of its limit, and what is
// made of the word that it answers.
//
// It decides the requests of which some limit is not plain GCRA.  Their state
// is a text in the field that Limit::suffix names, so that everything of one
// caller has one key and one expiry; a log is such a text too.
//
// The server's clock decides in which window a request falls.  Windows by a
// calendar are computed here: the script is sent the one of this process's
// clock, the one before and the one after, and refuses to decide if it finds
// itself in none of them.

#ifndef LIMITREE_STORE_REDIS_SCRIPT_MIXED_SCRIPT_HPP
#define LIMITREE_STORE_REDIS_SCRIPT_MIXED_SCRIPT_HPP

#include <string>
#include <string_view>

#include "base/plan.hpp"
#include "base/usage.hpp"

namespace limitree::redis {

inline constexpr std::size_t kMixedWordsPerLevel = 9;

// The word "when" of either script: see decide.lua.
char when_charged(const Plan& plan, const Level& level);

// Appends the words of one level, its field's name excepted.  `now` is what
// this process knows of the time.
void append_mixed_level(const Plan& plan, const Level& level, Instant now,
                        std::string* out);

// Sets the level's debt or usage from its word; *usage is for one that is not
// plain, and has to live until it is judged.  False if it is no such word.
bool read_mixed_level(const Plan& plan, std::string_view word, Instant now,
                      Level* level, Usage* usage);

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_SCRIPT_MIXED_SCRIPT_HPP
