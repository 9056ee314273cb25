#include "live.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include "log.hpp"
#include "web/live_pages.hpp"

namespace limitree::server {

namespace {

std::int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Not the rest of the URL, which may have a password.
std::string kind_of(const std::string& url) {
  return url.empty() ? "memory" : url.substr(0, url.find("://"));
}

// The option shadow_mode of the limiter: the last one decides.
bool is_shadow(const ServeSettings& settings) {
  bool shadow = settings.shadow;
  for (const auto& [name, value] : settings.options) {
    if (name == "shadow_mode") shadow = value == "on";
  }
  return shadow;
}

}  // namespace

Live::Live(const ServeSettings* settings, limitree_limiter* limiter,
           DescriptorsState* descriptors, const AdminToken* token, Loop* loop)
    : limiter_(limiter),
      token_(token),
      loop_(loop),
      handle_(new_loop(limiter)),
      store_loop_(loop, handle_.get()),
      decider_(handle_.get(), &store_loop_, &settings->answers, descriptors),
      pages_(&decider_, &settings->answers, &settings->header_style),
      sent_(!settings->xds.server.empty()),
      rates_(is_shadow(*settings)),
      next_(loop, [this] { sample(); }) {
  data_.rates = &rates_;
  data_.limits = settings->limits;
  data_.shadow = is_shadow(*settings);
  data_.can_reset = token->is_set();
  data_.store = kind_of(settings->store.url);
  sample();
}

void Live::add_to(HandlerTable* handlers) {
  add_live_pages([this]() -> const std::string& { return json(); }, handlers);
  pages_.add_looks_to(handlers, token_);
}

void Live::loaded(Loaded what, const LoadReport& report) {
  LoadState& load = data_.load;
  ++(report.loaded ? load.loaded : load.refused);
  load.last_ms = unix_ms();
  std::vector<std::string>& limits = mistakes_[0];
  std::vector<std::string>& descriptors = mistakes_[1];
  (what == Loaded::kAll ? limits : descriptors) = report.mistakes;
  // Limits are read with the files of descriptors.
  if (what == Loaded::kAll && !sent_) descriptors.clear();
  load.mistakes = limits;
  load.mistakes.insert(load.mistakes.end(), descriptors.begin(),
                       descriptors.end());
  load.mistakes.resize(std::min(load.mistakes.size(), LiveData::kMostMistakes));
  json_.clear();
}

void Live::sample() {
  next_.set(after(loop_->now(), RateHistory::kInterval));
  try {
    rates_.sample(limiter_);
  } catch (const std::exception& error) {  // there is no memory now
    log_line(LogLevel::kWarning, error.what());
  }
  data_.end_ms = unix_ms();
  json_.clear();
}

const std::string& Live::json() {
  if (!json_.empty()) return json_;
  data_.denied.clear();
  for (const DeniedCallers* const one : denied_) {
    one->add_to(&data_.denied, steady_now());
  }
  data_.counters =
      totals(limiter_, LIMITREE_SCOPE_REQUESTS | LIMITREE_SCOPE_STORE);
  json_ = live_json(data_);
  return json_;
}

}  // namespace limitree::server
