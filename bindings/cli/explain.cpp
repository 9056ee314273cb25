// `limitree explain`: which limits are on a path, and why?

#include "command.hpp"
#include "limits_file.hpp"
#include "terminal.hpp"

namespace limitree::cli {

int run(const ExplainOptions& options) {
  Config config;
  read_limits(options.source, &config);
  const Limiter limiter(config);
  print(limiter.explain(to_path(options.path)).view());
  return kExitOk;
}

}  // namespace limitree::cli
