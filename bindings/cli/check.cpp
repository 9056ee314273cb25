// `limitree check`, `convert` and `explain`: are these limits valid, what do
// they say, and which of them are on a path?

#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "failure.hpp"
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

struct EntryText {
  std::string key;
  std::string value;
};

// Reads "key=value,key=value".  An entry without a "=" has no value.  A
// backslash makes the character after it literal.  Throws UsageError if a key
// is missing.
std::vector<EntryText> parse_entries(std::string_view text) {
  std::vector<EntryText> entries(1);
  std::string* part = &entries.back().key;
  for (std::size_t i = 0; i < text.size(); ++i) {
    EntryText& entry = entries.back();
    if (text[i] == '\\' && i + 1 < text.size()) {
      part->push_back(text[++i]);
    } else if (text[i] == '=' && part == &entry.key) {
      part = &entry.value;
    } else if (text[i] == ',') {
      part = &entries.emplace_back().key;
    } else {
      part->push_back(text[i]);
    }
  }
  for (const EntryText& entry : entries) {
    if (!entry.key.empty()) continue;
    throw UsageError("'" + std::string(text) +
                     "' is not key=value,key=value; see --help");
  }
  return entries;
}

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
