// `limitree check`: are these limits valid, and what do they say?

#include "command.hpp"
#include "descriptor_files.hpp"
#include "limits_file.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

int check_descriptors(const CheckOptions& options) {
  Config config;
  read_descriptors(options.source, &config);
  const Limiter limiter(config);
  if (!options.quiet) print(limiter.describe_descriptors().view());
  return kExitOk;
}

}  // namespace

int run(const CheckOptions& options) {
  if (options.source.is_envoy()) return check_descriptors(options);
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
