// Scripts made for one limit of a window algorithm, alone on its path: what
// decide_mixed.lua does, without arguments and without a choice of algorithm.
// special_script.hpp has the reasons.

#ifndef LIMITREE_STORE_REDIS_SCRIPT_SPECIAL_WINDOW_HPP
#define LIMITREE_STORE_REDIS_SCRIPT_SPECIAL_WINDOW_HPP

#include <string>

#include "base/plan.hpp"
#include "store/redis/script/family.hpp"

namespace limitree::redis {

// Whether there is such a script: one fixed_window from the epoch, sliding_tail
// rounded down, log or leaky_bucket with steps, enforced, asked for what it
// always is.
bool is_special_window(const Plan& plan, const Families& families);

// Sets *out to all that the text is made of, in fewer bytes.  REQUIRES: there
// is one.
void write_window_signature(const Plan& plan, const Families& families,
                            std::string* out);
std::string window_text(const Plan& plan, const Families& families);

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_SCRIPT_SPECIAL_WINDOW_HPP
