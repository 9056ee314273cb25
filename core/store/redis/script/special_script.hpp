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
#include <memory>
#include <string>

#include "base/plan.hpp"
#include "store/redis/script/family.hpp"

namespace limitree::redis {

struct Script {
  explicit Script(std::string text);

  std::string text;
  std::string sha1;  // in hexadecimal: its name

  // Decides several such requests in one call, one after the other and at one
  // time.  Its keys are those of the first request, those of the second and so
  // on, its reply an array of what this one would have replied to each, errors
  // included.  Null if there is none.
  std::unique_ptr<const Script> several;
};

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
