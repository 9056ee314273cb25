// The native part of a JavaScript Limiter: the engine, which several threads
// may share, and the data of this thread.

#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine.hpp"
#include "environment.hpp"
#include "envoy.hpp"
#include "layout.hpp"
#include "limitree.h"
#include "watch.hpp"

namespace limitree::node {

// The texts of a level, which live as long as the limiter.
struct LevelNames {
  limitree_str policy;
  limitree_str unit;
};

// Numbers for these: JavaScript asks once for each.
class Policies {
 public:
  std::size_t number_of(const limitree_level& level);
  // Empty texts if there is no such number.
  LevelNames at(std::size_t number) const {
    return number < names_.size() ? names_[number] : LevelNames{};
  }

 private:
  std::unordered_map<const char*, std::size_t> numbers_;  // by policy
  std::vector<LevelNames> names_;
};

// First segments that have a number, from 1 on, and need not be read again.
// There are as many as the trees have top-level names; callers cannot add any.
class Roots {
 public:
  std::size_t add(std::string name) {
    names_.push_back(std::move(name));
    return names_.size();
  }
  limitree_str at(std::size_t number) const {
    const std::string& name = names_.at(number - 1);
    return {name.data(), name.size()};
  }

 private:
  std::deque<std::string> names_;  // at fixed addresses
};

// A pending request.  The library owns it from PENDING to its answer.
struct Pending {
  double slot;                               // its name in JavaScript
  std::unique_ptr<limitree_level[]> levels;  // null: not wanted
  // Null: a decision is wanted.  Else its own promise takes the answer.
  std::unique_ptr<EnvoyCall> envoy;
};

class Native final : public Closable,
                     public std::enable_shared_from_this<Native> {
 public:
  Native(Environment& environment, std::shared_ptr<Engine> engine);
  ~Native();
  Native(const Native&) = delete;
  Native& operator=(const Native&) = delete;

  bool is_closed() const { return is_closed_; }
  // Whether a decision may have to wait for another machine.
  bool is_remote() const { return is_remote_; }
  Environment& environment() const { return environment_; }
  Policies& policies() { return policies_; }
  Roots& roots() { return roots_; }
  // Empty if the limiter is closed: the names are gone then.
  LevelNames names(std::size_t number) const {
    return engine_ == nullptr ? LevelNames{} : policies_.at(number);
  }

  // REQUIRES: !is_closed(), or a pool call that is still running.
  Engine& engine() const { return *engine_; }

  // Cancels pending requests, and refuses later calls.  Calls that run on other
  // threads finish first.
  void close() override;

  // Has a client of JavaScript ask the store.  `wake` is called soon after a
  // command of another thread.
  void use_client(Napi::Function wake);

  // Runs the loop for that client, and returns what runLoop() returns.
  double run_client_loop();

  // Begins a request that is answered later.  Lets the event loop watch the
  // store, unless there is a client.  Throws Error if that fails.
  void begin_request();
  // Makes the loop send the request; the loop will also bring its answer.
  void send_soon() { watch_.run_soon(); }
  // The request was answered, at once or by the loop.
  void end_request() { set_pending(pending_ - 1); }

  // Around a call on another thread: the engine stays alive.
  void begin_pool_call() { ++pool_calls_; }
  void end_pool_call();

 private:
  static void make_room(std::size_t count, std::vector<Answer>* answers);
  std::vector<Answer> run_engine();
  void run_loop();
  void end_client();
  void release();
  void set_pending(std::size_t count);

  Environment& environment_;
  std::shared_ptr<Engine> engine_;  // null: released
  const Answers answers_;           // with room for all that are pending
  std::vector<Answer> spare_;       // empty; its memory is for the next answers
  const bool is_remote_;
  bool has_client_ = false;
  bool is_closed_ = false;
  std::size_t pool_calls_ = 0;
  std::size_t pending_ = 0;
  std::shared_ptr<Native> self_;  // set while something is pending
  Policies policies_;
  Roots roots_;
  Watch watch_;
  Napi::ThreadSafeFunction wake_;  // if there is a client
};

// Writes a decision in the form of layout.hpp: kDecisionSize numbers, and
// kLevelSize numbers for each level.  Returns their end.  `levels` may be null:
// they are not wanted.
double* write_decision(const limitree_decision& decision,
                       const limitree_level* levels, Policies* policies,
                       double* to);

// A call that may take long and is not made per request.  It returns a number,
// or throws Error.
using PoolFunction = std::function<double(Engine&)>;

// Runs it on a thread of libuv's pool.  Returns a promise of the number, or of
// the error.
Napi::Promise run_in_pool(Native& native, PoolFunction function);

}  // namespace limitree::node
