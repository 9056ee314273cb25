#include "engine.hpp"

#include <map>
#include <mutex>

namespace limitree::node {

namespace {

// Never destroyed: threads may outlive the statics of a process.
struct Shared {
  std::mutex mutex;  // guards the map, and settings_ of every engine
  std::map<std::string, std::weak_ptr<Engine>> engines;
};

Shared& shared() {
  static Shared& one = *new Shared;
  return one;
}

// Only keeps the answers.  They are delivered after the library has returned,
// because callbacks may do anything, such as closing the limiter.  There is
// room for them: see Native::begin_request().
void complete(const limitree_completion* completions, std::size_t count,
              void* user_data) noexcept {
  std::vector<Answer>& answers = **static_cast<Answers*>(user_data);
  for (std::size_t i = 0; i < count; ++i) {
    const limitree_completion& done = completions[i];
    Answer answer = {done.request, done.decision, done.status, {}};
    try {
      if (done.status < 0) answer.error = Error::from(done.status, done.error);
    } catch (const std::bad_alloc&) {  // the answer then has no message
    }
    answers.push_back(std::move(answer));
  }
}

std::int64_t last_time(void* now_ns) noexcept {
  return static_cast<std::atomic<std::int64_t>*>(now_ns)->load(
      std::memory_order_relaxed);
}

void add_limits(const Pairs& limits, Config* config) {
  for (const auto& [yaml, origin] : limits) config->add_limits(yaml, origin);
}

void add_descriptors(const Pairs& descriptors, bool merge, Config* config) {
  std::vector<limitree_file> files;
  files.reserve(descriptors.size());
  for (const auto& [yaml, origin] : descriptors) {
    files.push_back({to_str(yaml), to_str(origin)});
  }
  config->add_descriptors(files, merge);
}

std::unique_ptr<Limiter> make_limiter(const Settings& settings,
                                      std::atomic<std::int64_t>* now_ns,
                                      const Answers& answers,
                                      Commands* commands, LogQueue* log) {
  Config config;
  for (const auto& [name, value] : settings.options) config.set(name, value);
  if (settings.now_ns) config.set_clock(last_time, now_ns);
  if (settings.client) {
    check(limitree_config_set_client, config.get(), Commands::add,
          *settings.client, commands, nullptr);
  }
  config.set_log(LogQueue::add, log);
  check(limitree_config_set_completion, config.get(), complete,
        new Answers(answers),
        [](void* user_data) { delete static_cast<Answers*>(user_data); });
  add_limits(settings.limits, &config);
  add_descriptors(settings.descriptors, settings.merge_domains, &config);
  return std::make_unique<Limiter>(config);
}

}  // namespace

Engine::Engine(const Settings& settings)
    : settings_(settings),
      now_ns_(settings.now_ns.value_or(0)),
      answers_(std::make_shared<std::vector<Answer>>()),
      commands_(std::make_unique<Commands>()),
      limiter_(
          make_limiter(settings, &now_ns_, answers_, commands_.get(), &log_)) {}

std::shared_ptr<Engine> Engine::open(const Settings& settings) {
  if (settings.share.empty()) return std::make_shared<Engine>(settings);
  const std::lock_guard lock(shared().mutex);
  std::erase_if(shared().engines,
                [](const auto& one) { return one.second.expired(); });
  std::weak_ptr<Engine>& place = shared().engines[settings.share];
  std::shared_ptr<Engine> engine = place.lock();
  if (engine == nullptr) {
    engine = std::make_shared<Engine>(settings);
    if (engine->limiter().is_remote()) {
      throw Error(LIMITREE_INVALID_ARGUMENT,
                  {"share: only limiters in memory can be shared; through a "
                   "store on another machine they share anyway"});
    }
    place = engine;
  } else if (engine->settings_ != settings) {
    throw Error(LIMITREE_INVALID_CONFIG,
                {"share: the limiter \"" + settings.share +
                 "\" has other limits or options"});
  }
  return engine;
}

void Engine::reload(const Pairs& limits) {
  Config config;
  add_limits(limits, &config);
  const std::lock_guard lock(shared().mutex);
  add_descriptors(settings_.descriptors, settings_.merge_domains, &config);
  limiter_->reload(config);
  settings_.limits = limits;
}

void Engine::reload_descriptors(const Pairs& descriptors) {
  Config config;
  add_descriptors(descriptors, settings_.merge_domains, &config);
  const std::lock_guard lock(shared().mutex);
  limiter_->reload_descriptors(config);
  settings_.descriptors = descriptors;
}

}  // namespace limitree::node
