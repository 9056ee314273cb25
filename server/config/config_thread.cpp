#include "config/config_thread.hpp"

#include <utility>

#include "io/failure.hpp"

namespace limitree::server {

namespace {

constexpr Duration kAskStore = kOneSecond;

}  // namespace

ConfigThread::ConfigThread(const ServeSettings* settings,
                           ConfigListener* listener)
    : settings_(*settings),
      listener_(listener),
      loader_(settings->descriptors.merge_domains),
      ask_store_(&loop_, [this] { ask_store(); }) {}

ConfigThread::~ConfigThread() { stop(); }

LoadReport ConfigThread::read(Config* config) {
  state_ = state_of(settings_.descriptors);
  Sources limits{read_limits(), {}};
  LoadReport report{true, 0, {}};
  try {
    Sources all = limits;
    all.descriptors = read_descriptors(settings_.descriptors);
    report.files = all.descriptors.size();
    loader_.start(all, config);
    return report;
  } catch (const std::exception& error) {
    if (!settings_.starts_without_descriptors) throw;
    report = report_of(error);
  }
  // Mistakes in the limits themselves are thrown.
  loader_.start(limits, config);
  return report;
}

void ConfigThread::start(Limiter* limiter) {
  limiter_ = limiter;
  if (!settings_.descriptors.places.empty()) {
    folder_ = std::make_unique<FolderWatch>(
        &loop_, settings_.descriptors, state_,
        [this](const std::vector<SourceFile>& files,
               const std::string& mistake) { changed(files, mistake); });
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
  loop_.post([this] { reload_now(); });
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

// Descriptors that a server has sent stay.
LoadReport ConfigThread::load_all() {
  const std::string state = state_of(settings_.descriptors);
  Sources sources{read_limits(), {}};
  if (folder_ == nullptr) {
    return loader_.load_limits(sources.limits, limiter_);
  }
  sources.descriptors = read_descriptors(settings_.descriptors);
  folder_->know(state);
  return loader_.load(sources, limiter_);
}

void ConfigThread::reload_now() {
  LoadReport report;
  try {
    report = load_all();
  } catch (const Failure& failure) {
    report = report_of(failure);
  }
  listener_->loaded(Loaded::kAll, report);
}

void ConfigThread::changed(const std::vector<SourceFile>& files,
                           const std::string& mistake) {
  listener_->loaded(Loaded::kDescriptors,
                    mistake.empty() ? loader_.load_descriptors(files, limiter_)
                                    : report_of(Failure(mistake)));
}

std::string ConfigThread::take(std::vector<SourceFile> files) {
  const LoadReport report = loader_.load_descriptors(files, limiter_);
  if (report.loaded) lost_.clear();
  tell_sent(report);
  std::string mistakes;
  for (const std::string& mistake : report.mistakes) {
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
  limitree_error* error = nullptr;
  const bool answers =
      limitree_ping(limiter_->get(), nullptr, &error) == LIMITREE_OK;
  limitree_error_free(error);
  listener_->store_answers(answers);
  ask_store_.set(after(loop_.now(), kAskStore));
}

}  // namespace limitree::server
