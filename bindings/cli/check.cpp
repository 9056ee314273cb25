// `limitree check`: are these limits valid, and what do they say?

#include "command.hpp"
#include "limits_file.hpp"
#include "terminal.hpp"

namespace limitree::cli {

int run(const CheckOptions& options) {
  Config config;
  const std::string yaml = read_limits(options.source, &config);
  if (options.yaml) {
    print(yaml);
    return kExitOk;
  }
  const Limiter limiter(config);
  if (!options.quiet) print(limiter.describe().view());
  return kExitOk;
}

}  // namespace limitree::cli
