// A limiter of the process: the handle of limitree.h, and the names under which
// the threads of a process share one.
//
// Knows nothing of JavaScript: an engine may outlive the thread that made it.

#ifndef LIMITREE_NODE_ENGINE_HPP
#define LIMITREE_NODE_ENGINE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "limitree.hpp"

namespace limitree::node {

// Limits as they were written.
struct Text {
  std::string yaml;
  std::string origin;  // what messages call it

  bool operator==(const Text&) const = default;
};

struct Settings {
  std::vector<Text> limits;  // of which one tree is made
  std::vector<std::pair<std::string, std::string>> options;
  std::string share;  // the name to share under, or empty: for itself alone
  std::optional<std::int64_t> now_ns;  // if JavaScript has a clock: its time
};

// One finished request of limitree_decide_async.
struct Answer {
  void* request;
  limitree_decision decision;
  limitree_status status;
  std::vector<std::string> messages;  // of an error
  const char* reason;                 // of an error; static storage
};

using Answers = std::shared_ptr<std::vector<Answer>>;

class Engine {
 public:
  // Makes a limiter or, where `settings` has a name to share under, returns the
  // one that another thread has made under it.  Throws Error if that one has
  // other limits or options, if limits or options are refused, or if a remote
  // store is to be shared.
  static std::shared_ptr<Engine> open(const Settings& settings);

  explicit Engine(const Settings& settings);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  limitree_limiter* get() const { return limiter_->get(); }
  const Limiter& limiter() const { return *limiter_; }

  // Swaps the limits for everybody who shares them, as
  // limitree_limiter_reload_config does.
  limitree_status reload(const std::vector<Text>& limits,
                         limitree_error** error);

  // What a clock of JavaScript's said before the call that comes.
  void set_now(std::int64_t now_ns) {
    now_ns_.store(now_ns, std::memory_order_relaxed);
  }

  // Whether limits and options are these.
  bool is_made_of(const Settings& settings) const;

  // Where limitree_loop_run puts answers, and the end of the engine those that
  // are cancelled by it.
  const Answers& answers() const { return answers_; }

 private:
  const std::vector<std::pair<std::string, std::string>> options_;
  std::vector<Text> limits_;
  std::atomic<std::int64_t> now_ns_{0};
  const Answers answers_;
  std::unique_ptr<Limiter> limiter_;
};

}  // namespace limitree::node

#endif  // LIMITREE_NODE_ENGINE_HPP
