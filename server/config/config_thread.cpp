#include "config/config_thread.hpp"

#include "io/failure.hpp"

namespace limitree::server {

namespace {

constexpr Duration kAskStore = kOneSecond;

// The report of a load that has failed.
LoadReport report_of(const std::exception& error) {
  if (const auto* const own = dynamic_cast<const Error*>(&error)) {
    return {false, 0, own->messages()};
  }
  return {false, 0, {error.what()}};
}

}  // namespace

ConfigThread::ConfigThread(const ServeSettings* settings,
                           ConfigListener* listener)
    : settings_(*settings),
      listener_(listener),
      ask_store_(&loop_, [this] { ask_store(); }) {}

ConfigThread::~ConfigThread() { stop(); }

LoadReport ConfigThread::read(Config* config) {
  state_ = state_of(settings_.descriptors);
  const std::optional<SourceFile> limits = read_limits();
  LoadReport failed;
  try {
    const auto files = read_descriptors(settings_.descriptors);
    add(limits, files, config);
    files_ = files.size();
    return {true, files_, {}};
  } catch (const std::exception& error) {
    if (!settings_.starts_without_descriptors) throw;
    failed = report_of(error);
  }
  // Mistakes in the limits themselves are thrown.
  add(limits, {}, config);
  return failed;
}

void ConfigThread::add(const std::optional<SourceFile>& limits,
                       const std::vector<SourceFile>& descriptors,
                       Config* config) const {
  if (limits) config->set_limits(limits->text, limits->name);
  std::vector<limitree_file> files;
  files.reserve(descriptors.size());
  for (const SourceFile& file : descriptors) {
    files.push_back({to_str(file.text), to_str(file.name)});
  }
  config->add_descriptors(files, settings_.descriptors.merge_domains);
}

void ConfigThread::start(Limiter* limiter) {
  limiter_ = limiter;
  if (!settings_.descriptors.places.empty()) {
    folder_ = std::make_unique<FolderWatch>(
        &loop_, settings_.descriptors, state_,
        [this](const std::vector<SourceFile>& files,
               const std::string& mistake) {
          listener_->loaded(Loaded::kDescriptors, report([&] {
                              if (!mistake.empty()) throw Failure(mistake);
                              load_descriptors(files);
                            }));
        });
  }
  if (!settings_.xds.server.empty()) {
    xds_ = std::make_unique<XdsClient>(&loop_, &settings_.xds, this);
  }
  if (settings_.health.needs_store && limiter_->is_remote()) {
    ask_store_.set(loop_.now());
  }
  thread_ = std::thread([this] { loop_.run(); });
}

void ConfigThread::reload() {
  loop_.post([this] {
    listener_->loaded(Loaded::kAll, report([this] { load_all(); }));
  });
}

void ConfigThread::stop() {
  if (!thread_.joinable()) return;
  loop_.stop();
  thread_.join();
}

std::optional<SourceFile> ConfigThread::read_limits() const {
  if (settings_.limits.empty()) return std::nullopt;
  return SourceFile{settings_.limits, read_file(settings_.limits)};
}

// Replaces the limits and the descriptors of the limiter.  Descriptors that a
// server has sent stay.
void ConfigThread::load_all() {
  const std::string state = state_of(settings_.descriptors);
  const std::optional<SourceFile> limits = read_limits();
  if (folder_ == nullptr) {
    if (limits) limiter_->reload(limits->text, limits->name);
    return;
  }
  const auto files = read_descriptors(settings_.descriptors);
  folder_->know(state);
  Config config;
  add(limits, files, &config);
  limiter_->reload(config);
  files_ = files.size();
}

void ConfigThread::load_descriptors(const std::vector<SourceFile>& files) {
  Config config;
  add({}, files, &config);
  limiter_->reload_descriptors(config);
  files_ = files.size();
}

// Loads.  If there is a mistake, everything stays as it is.
LoadReport ConfigThread::report(const std::function<void()>& load) const {
  try {
    load();
  } catch (const std::exception& error) {
    return report_of(error);
  }
  return {true, files_, {}};
}

std::string ConfigThread::take(std::vector<SourceFile> files) {
  const LoadReport result = report([&] { load_descriptors(files); });
  if (result.loaded) lost_.clear();
  tell_sent(result);
  std::string mistakes;
  for (const std::string& mistake : result.mistakes) {
    mistakes += (mistakes.empty() ? "" : "\n") + mistake;
  }
  return mistakes;
}

void ConfigThread::refuse(const std::string& why) {
  tell_sent(report_of(Failure(settings_.xds.server + ": " + why)));
}

void ConfigThread::tell_sent(LoadReport report) {
  const bool again = !report.loaded && report.mistakes == mistakes_;
  repeats_ = again ? repeats_ + 1 : 0;
  mistakes_ = report.mistakes;
  report.repeats = repeats_;
  listener_->loaded(Loaded::kDescriptors, report);
}

// An attempt that ends like the previous one gets no message.
void ConfigThread::lost(const std::string& why) {
  if (why == lost_) return;
  lost_ = why;
  listener_->server_lost(settings_.xds.server + ": " + why);
}

void ConfigThread::ask_store() {
  listener_->store_answers(limitree_ping(limiter_->get(), nullptr, nullptr) ==
                           LIMITREE_OK);
  ask_store_.set(after(loop_.now(), kAskStore));
}

}  // namespace limitree::server
