#include "engine.hpp"

#include <map>
#include <mutex>

namespace limitree::node {

namespace {

// Never destroyed: threads may outlive the statics of a process.
struct Shared {
  std::mutex mutex;  // guards the map, and limits_ of every engine
  std::map<std::string, std::weak_ptr<Engine>> engines;
};

Shared& shared() {
  static Shared& one = *new Shared;
  return one;
}

// Only keeps the answers.  They are delivered after the library has returned,
// because callbacks may do anything, such as closing the limiter.
void complete(const limitree_completion* completions, std::size_t count,
              void* user_data) noexcept {
  std::vector<Answer>& answers = **static_cast<Answers*>(user_data);
  for (std::size_t i = 0; i < count; ++i) {
    const limitree_completion& done = completions[i];
    Answer answer = {done.request, done.decision, done.status, {}, ""};
    if (done.status < 0) {
      answer.reason = limitree_error_reason(done.error);
      try {
        answer.messages = Error::from(done.status, done.error).messages();
      } catch (const std::bad_alloc&) {  // then without a message
      }
    }
    answers.push_back(std::move(answer));
  }
}

std::int64_t last_time(void* now_ns) noexcept {
  return static_cast<std::atomic<std::int64_t>*>(now_ns)->load(
      std::memory_order_relaxed);
}

limitree_status add_limits(limitree_config* config,
                           const std::vector<Text>& limits,
                           limitree_error** error) {
  for (const Text& text : limits) {
    const limitree_status status = limitree_config_add_limits(
        config, to_str(text.yaml), to_str(text.origin), error);
    if (status < 0) return status;
  }
  return LIMITREE_OK;
}

limitree_status add_descriptors(limitree_config* config,
                                const std::vector<Text>& descriptors,
                                bool merge, limitree_error** error) {
  std::vector<limitree_file> files;
  files.reserve(descriptors.size());
  for (const Text& text : descriptors) {
    files.push_back({to_str(text.yaml), to_str(text.origin)});
  }
  return limitree_config_add_descriptors(config, files.data(), files.size(),
                                         merge ? 1 : 0, error);
}

std::unique_ptr<Limiter> make_limiter(const Settings& settings,
                                      std::atomic<std::int64_t>* now_ns,
                                      const Answers& answers, LogQueue* log) {
  Config config;
  for (const auto& [name, value] : settings.options) config.set(name, value);
  if (settings.now_ns) config.set_clock(last_time, now_ns);
  config.set_log(LogQueue::add, log);
  check([&](limitree_error** error) {
    return limitree_config_set_completion(
        config.get(), complete, new Answers(answers),
        [](void* user_data) { delete static_cast<Answers*>(user_data); },
        error);
  });
  check([&](limitree_error** error) {
    return add_limits(config.get(), settings.limits, error);
  });
  check([&](limitree_error** error) {
    return add_descriptors(config.get(), settings.descriptors,
                           settings.merge_domains, error);
  });
  return std::make_unique<Limiter>(config);
}

}  // namespace

Engine::Engine(const Settings& settings)
    : options_(settings.options),
      limits_(settings.limits),
      descriptors_(settings.descriptors),
      merge_domains_(settings.merge_domains),
      now_ns_(settings.now_ns.value_or(0)),
      answers_(std::make_shared<std::vector<Answer>>()),
      limiter_(make_limiter(settings, &now_ns_, answers_, &log_)) {}

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
  } else if (!engine->is_made_of(settings)) {
    throw Error(LIMITREE_INVALID_CONFIG,
                {"share: the limiter \"" + settings.share +
                 "\" has other limits or options"});
  }
  return engine;
}

limitree_status Engine::reload(const std::vector<Text>& limits,
                               limitree_error** error) {
  const ConfigHandle config(limitree_config_new());
  if (config == nullptr) return LIMITREE_OUT_OF_MEMORY;
  limitree_status status = add_limits(config.get(), limits, error);
  if (status < 0) return status;
  const std::lock_guard lock(shared().mutex);
  status = add_descriptors(config.get(), descriptors_, merge_domains_, error);
  if (status < 0) return status;
  status = limitree_limiter_reload_config(get(), config.get(), error);
  if (status >= 0) limits_ = limits;
  return status;
}

limitree_status Engine::reload_descriptors(const std::vector<Text>& descriptors,
                                           limitree_error** error) {
  const ConfigHandle config(limitree_config_new());
  if (config == nullptr) return LIMITREE_OUT_OF_MEMORY;
  limitree_status status =
      add_descriptors(config.get(), descriptors, merge_domains_, error);
  if (status < 0) return status;
  const std::lock_guard lock(shared().mutex);
  status = limitree_limiter_reload_descriptors(get(), config.get(), error);
  if (status >= 0) descriptors_ = descriptors;
  return status;
}

limitree_status Engine::put(const std::string& name, const std::string& yaml,
                            std::int32_t replace, limitree_error** error) {
  return limitree_limiter_put(get(), to_str(name), to_str(yaml),
                              to_str("limits"), replace, error);
}

bool Engine::is_made_of(const Settings& settings) const {
  return limits_ == settings.limits && options_ == settings.options &&
         descriptors_ == settings.descriptors &&
         merge_domains_ == settings.merge_domains;
}

}  // namespace limitree::node
