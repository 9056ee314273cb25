// `limitree explain`: which limits are on a path, and why?

#include <string>
#include <vector>

#include "command.hpp"
#include "descriptor_files.hpp"
#include "limits_file.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

int explain_descriptor(const ExplainOptions& options) {
  const std::vector<EntryText> texts = parse_entries(options.path[1]);
  std::vector<limitree_entry> entries;
  entries.reserve(texts.size());
  for (const EntryText& text : texts) {
    entries.push_back({to_str(text.key), to_str(text.value)});
  }
  Config config;
  read_descriptors(options.source, &config);
  const Limiter limiter(config);
  print(limiter.explain_descriptor(options.path[0], entries).view());
  return kExitOk;
}

}  // namespace

int run(const ExplainOptions& options) {
  if (options.source.is_envoy()) return explain_descriptor(options);
  Config config;
  read_limits(options.source, &config);
  const Limiter limiter(config);
  print(limiter.explain(to_path(options.path)).view());
  return kExitOk;
}

}  // namespace limitree::cli
