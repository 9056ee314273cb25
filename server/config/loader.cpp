#include "config/loader.hpp"

#include <utility>

namespace limitree::server {

void Loader::add(const Sources& sources, Config* config) const {
  if (sources.limits) {
    config->set_limits(sources.limits->text, sources.limits->name);
  }
  std::vector<limitree_file> files;
  for (const SourceFile& file : sources.descriptors) {
    files.push_back({to_str(file.text), to_str(file.name)});
  }
  config->add_descriptors(files, merges_);
}

void Loader::start(Sources sources, Config* config) {
  add(sources, config);
  loaded_ = std::move(sources);
}

LoadReport Loader::load(Sources sources, Limiter* limiter) {
  try {
    Config config;
    add(sources, &config);
    limiter->reload(config);
  } catch (const std::exception& error) {
    return report_of(error);
  }
  loaded_ = std::move(sources);
  return {true, loaded_.descriptors.size(), {}};
}

LoadReport report_of(const std::exception& error) {
  LoadReport report;
  if (const auto* const own = dynamic_cast<const Error*>(&error)) {
    report.mistakes = own->messages();
  } else {
    report.mistakes = {error.what()};
  }
  return report;
}

}  // namespace limitree::server
