#include "source_arguments.hpp"

#include <cstddef>
#include <utility>

#include "failure.hpp"

namespace limitree::cli {

void add_limits(CLI::App* app, std::string* limits) {
  app->add_option("limits", *limits, "a limits.yaml, or -")
      ->required()
      ->type_name("FILE");
}

void add_source(CLI::App* app, const std::vector<std::string>& formats,
                LimitsSource* source) {
  add_limits(app, &source->limits);
  std::string help = "limits of another program: ";
  for (const std::string& format : formats) {
    if (&format != &formats.front()) help += " or ";
    help += format;
  }
  app->add_option("--from", source->format, help)
      ->check(CLI::IsMember(formats))
      ->type_name("FORMAT");
}

void add_any_source(CLI::App* app, LimitsSource* source) {
  add_source(app, {"boulder", "envoy"}, source);
  app->add_flag("--merge-domains", source->merge_domains,
                "of envoy: several files may have the same domain");
}

void add_other_files(CLI::App* app, LimitsSource* source) {
  app->add_option("others", source->others, "the other files of --from")
      ->type_name("FILE");
}

namespace {

void check_merge(const LimitsSource& source) {
  if (!source.merge_domains || source.is_envoy()) return;
  throw UsageError("--merge-domains needs --from envoy; see --help");
}

void check_count(const LimitsSource& source) {
  check_merge(source);
  if (source.is_envoy()) return;
  const std::size_t files = source.format.empty() ? 0 : 1;
  if (source.others.size() == files) return;
  throw UsageError(files == 0 ? "a second file needs --from; see --help"
                              : "--from boulder needs two files; see --help");
}

}  // namespace

void check_files(const CheckOptions& options) {
  check_count(options.source);
  if (!options.yaml || !options.source.is_envoy()) return;
  throw UsageError("--yaml cannot print descriptors; see convert --help");
}

void check_files(const ConvertOptions& options) {
  check_count(options.source);
  if (!options.source.format.empty()) return;
  throw UsageError("convert needs --from; see --help");
}

void take_overrides(LimitsSource* source, std::vector<std::string>* words) {
  check_merge(*source);
  if (source->format.empty()) return;
  if (source->is_envoy()) {
    if (words->size() == 2) return;
    throw UsageError(
        "--from envoy needs a folder or file, a domain and entries; see "
        "--help");
  }
  if (words->size() < 2) {
    throw UsageError("--from boulder needs two files and a path; see --help");
  }
  source->others = {std::move(words->front())};
  words->erase(words->begin());
}

}  // namespace limitree::cli
