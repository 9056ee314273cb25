// `limitree top` of a build without Redis.

#include "command.hpp"
#include "failure.hpp"

namespace limitree::cli {

int run(const TopOptions& /*options*/) {
  throw UsageError("this build has no Redis, which top needs");
}

}  // namespace limitree::cli
