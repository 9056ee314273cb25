// `limitree convert`: limits of another program as a limits.yaml.

#include "command.hpp"
#include "descriptor_files.hpp"
#include "limits_file.hpp"
#include "terminal.hpp"

namespace limitree::cli {

int run(const ConvertOptions& options) {
  Config config;
  if (!options.source.is_envoy()) {
    print(read_limits(options.source, &config));
    return kExitOk;
  }
  read_descriptors(options.source, &config);
  const Text yaml = config.limits_from_descriptors();
  print(yaml.view());
  for (const std::string& lost : yaml.warnings()) write_error_line(lost);
  return yaml.warnings().empty() ? kExitOk : kExitBadInput;
}

}  // namespace limitree::cli
