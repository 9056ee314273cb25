// A limiter of the process: the handle of limitree.h, and the names under which
// the threads of the process share it.
//
// It knows nothing about JavaScript: an engine may outlive the thread that made
// it.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "limitree.hpp"
#include "log_queue.hpp"

namespace limitree::node {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Settings {
  // YAML, and its name in messages: the texts of one tree, and files of
  // envoyproxy/ratelimit.
  Pairs limits;
  Pairs descriptors;
  bool merge_domains = false;  // whether they may add to each other's domains
  Pairs options;               // names and values
  std::string share;           // the name to share under; empty: not shared
  std::optional<std::int64_t> now_ns;  // the time, if JavaScript has a clock
  // The flags of limitree_config_set_client, if JavaScript has a client.
  std::optional<std::int32_t> client;

  bool operator==(const Settings&) const = default;
};

// One finished request of limitree_decide_async.
struct Answer {
  void* request;
  limitree_decision decision;
  limitree_status status;
  std::optional<Error> error;  // if that is negative, and there was memory
};

using Answers = std::shared_ptr<std::vector<Answer>>;

class Engine {
 public:
  // Makes a limiter.  If `settings` has a name to share under, returns the one
  // that another thread made under that name.  Throws Error if that one has
  // other limits or options, if limits or options are not valid, or if a remote
  // store is to be shared.
  static std::shared_ptr<Engine> open(const Settings& settings);

  explicit Engine(const Settings& settings);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  limitree_limiter* get() const { return limiter_->get(); }
  Limiter& limiter() const { return *limiter_; }

  // Replaces the limits for all threads that share them, as
  // limitree_limiter_reload_config does.  Throws Error.
  void reload(const Pairs& limits);

  // The same for the descriptors.
  void reload_descriptors(const Pairs& descriptors);

  // Sets the time of JavaScript's clock before a call.
  void set_now(std::int64_t now_ns) {
    now_ns_.store(now_ns, std::memory_order_relaxed);
  }

  // Answers from limitree_loop_run, and, at the end of the engine, those of
  // cancelled requests.
  const Answers& answers() const { return answers_; }

  // For the client of JavaScript.
  Commands& commands() { return *commands_; }

  // Messages about the store, for the first thread that takes them.
  LogQueue& log() { return log_; }

 private:
  Settings settings_;  // with the limits and descriptors of the last reload
  std::atomic<std::int64_t> now_ns_{0};
  const Answers answers_;
  const std::unique_ptr<Commands> commands_;  // outlives the limiter
  LogQueue log_;
  std::unique_ptr<Limiter> limiter_;
};

}  // namespace limitree::node
