// Writes the texts of compiled_script.hpp.

#pragma once

#include <string>

#include "base/plan.hpp"
#include "store/redis/common/remote.hpp"
#include "store/redis/script/level_numbers.hpp"
#include "store/remote/common/family.hpp"

namespace limitree::redis {

// The text of a script, or of the one for several requests.
// REQUIRES: no other part of the plan has denied, unless the layout is kLoop,
// for which nothing of the plan counts but its operation.
std::string write_script(const Plan& plan, const Families& families,
                         bool callers_clock, Layout layout, bool several);

}  // namespace limitree::redis
