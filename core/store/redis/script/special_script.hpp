// Scripts made for one shape of request.
//
// decide.lua takes limits as arguments and loops over them.  For what is asked
// most, cost 1 and all or nothing, a script with the limits written into it
// and no loop costs a Redis server hardly more than half.  It says nothing that
// decide.lua would not say.
//
// A text has only what limits.yaml has: numbers, and static segments as quoted
// strings.  So it is the tree that bounds their number, not callers, and beyond
// kMaxSpecialScripts there are no more.

#ifndef LIMITREE_STORE_REDIS_SCRIPT_SPECIAL_SCRIPT_HPP
#define LIMITREE_STORE_REDIS_SCRIPT_SPECIAL_SCRIPT_HPP

#include <cstddef>
#include <string>

#include "base/plan.hpp"
#include "store/redis/script/family.hpp"
#include "store/redis/wire/script.hpp"

namespace limitree::redis {

inline constexpr std::size_t kMaxSpecialScripts = 512;  // of a process

// The script for these levels, whose only arguments are the families' keys, or
// null if there is none for such a request.  It stays as long as the process.
// *scratch is overwritten.
//
// May be called from several threads at once, takes no lock, and so need not
// know of fork().
const Script* special_script(const Plan& plan, const Families& families,
                             std::string* scratch);

// The text of that script, made anew, or of the one for several; empty if there
// is none.
std::string special_text(const Plan& plan, const Families& families,
                         bool several = false);

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_SCRIPT_SPECIAL_SCRIPT_HPP
