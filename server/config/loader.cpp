#include "config/loader.hpp"

namespace limitree::server {

void Loader::add(const std::vector<SourceFile>& files, Config* config) const {
  std::vector<limitree_file> all;
  all.reserve(files.size());
  for (const SourceFile& file : files) {
    all.push_back({to_str(file.text), to_str(file.name)});
  }
  config->add_descriptors(all, merges_);
}

LoadReport Loader::report(std::size_t files,
                          const std::function<void()>& load) {
  try {
    load();
  } catch (const std::exception& error) {
    return report_of(error);
  }
  files_ = files;
  return {true, files_, {}};
}

void Loader::add(const Sources& sources, Config* config) const {
  if (sources.limits) {
    config->set_limits(sources.limits->text, sources.limits->name);
  }
  add(sources.descriptors, config);
}

void Loader::start(const Sources& sources, Config* config) {
  add(sources, config);
  files_ = sources.descriptors.size();
}

LoadReport Loader::load(const Sources& sources, Limiter* limiter) {
  return report(sources.descriptors.size(), [&] {
    Config config;
    add(sources, &config);
    limiter->reload(config);
  });
}

LoadReport Loader::load_limits(const std::optional<SourceFile>& limits,
                               Limiter* limiter) {
  return report(files_, [&] {
    if (limits) limiter->reload(limits->text, limits->name);
  });
}

LoadReport Loader::load_descriptors(const std::vector<SourceFile>& files,
                                    Limiter* limiter) {
  return report(files.size(), [&] {
    Config config;
    add(files, &config);
    limiter->reload_descriptors(config);
  });
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
