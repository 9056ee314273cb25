// `limitree check`, `convert` and `explain`: are these limits valid, what do
// they say, and which of them are on a path?

#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "entries.hpp"
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

int explain_descriptor(const ExplainOptions& options) {
  const EntryTexts texts(options.path[1]);
  const std::vector<limitree_entry> entries = texts.entries();
  Config config;
  read_descriptors(options.source, &config);
  const Limiter limiter(config);
  print(limiter.explain_descriptor(options.path[0], entries).view());
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

int run(const ExplainOptions& options) {
  if (options.source.is_envoy()) return explain_descriptor(options);
  Config config;
  read_limits(options.source, &config);
  const Limiter limiter(config);
  print(limiter.explain(to_path(options.path)).view());
  return kExitOk;
}

}  // namespace limitree::cli
