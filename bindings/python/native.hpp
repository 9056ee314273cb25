// The native part of a Python limiter: the handle of limitree.h, the time of
// its release, and its messages for the log.
//
// The global interpreter lock guards everything here.  A call releases it only
// while a store on another machine answers: a decision in memory takes less
// time than releasing the lock and taking it again.

#pragma once

#include <Python.h>
#include <pybind11/pybind11.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "errors.hpp"
#include "limitree.h"
#include "log_queue.hpp"

namespace limitree::python {

// Throws Error or error_already_set unless a limiter could have these options,
// pairs of texts.  Opens no store.
void check_options(const pybind11::dict& options);

class Native {
 public:
  // `texts` is a list of pairs of bytes, a YAML text and its name; `options`
  // are pairs of texts; `clock` is None or a callable that returns the time in
  // nanoseconds; `descriptors` are more pairs of bytes, files of
  // envoyproxy/ratelimit, and whether they may add to each other's domains;
  // `client` is None or a callable that sends the commands of the store, as
  // limitree.redis_client has them, and whether it is that of a cluster.
  // Throws Error or error_already_set.
  Native(const pybind11::list& texts, const pybind11::dict& options,
         pybind11::object clock, bool with_levels,
         const std::pair<pybind11::list, bool>& descriptors,
         const std::pair<pybind11::object, bool>& client);
  ~Native();
  Native(const Native&) = delete;
  Native& operator=(const Native&) = delete;

  // Refuses new calls; running calls continue.
  void refuse() noexcept { closed_ = true; }
  // Calls that run on other threads finish first; the last of them releases.
  void close() noexcept;
  bool closed() const noexcept { return closed_; }
  // The number of running calls.
  int busy() noexcept {
    forget_parent();
    return calls_ + pending_;
  }

  // Whether a decision may have to wait for another machine.
  bool is_remote() const noexcept { return is_remote_; }
  // Whether other processes can share the buckets.
  bool is_shared() const noexcept { return is_shared_; }

  // Whether decisions carry their levels by default.
  bool with_levels() const noexcept { return with_levels_; }

  // Runs `function(limiter, arguments..., &error)`, one call of limitree.h.
  // Returns its status; if that is negative, a Python error is set.
  //
  // Neither this nor its callers are noexcept: if the interpreter ends, a
  // thread that returns here is ended by unwinding its stack.
  template <typename Function, typename... Arguments>
  limitree_status call(Function&& function, Arguments... arguments) {
    return call_unlocked(is_remote_, function, arguments...);
  }
  // The same for calls that never wait.
  template <typename Function, typename... Arguments>
  limitree_status call_at_once(Function&& function, Arguments... arguments) {
    return call_unlocked(false, function, arguments...);
  }

  // These throw error_already_set.
  template <typename Function, typename... Arguments>
  void run(Function&& function, Arguments... arguments) {
    require(call(function, arguments...) >= 0);
  }
  // For calls that take long with any store.
  template <typename Function, typename... Arguments>
  void run_long(Function&& function, Arguments... arguments) {
    require(call_unlocked(true, function, arguments...) >= 0);
  }

  // To be called with the flags of each answer.
  void note(std::uint32_t flags) {
    if ((flags & LIMITREE_FORGOT) != 0) [[unlikely]]
      warn_full();
  }
  // To be called after each answer: writes the messages that wait.  May run
  // Python code, which may close the limiter.
  void write_log() {
    if (!log_.is_empty()) [[unlikely]]
      write_messages();
  }
  void noted(std::uint32_t flags) {
    note(flags);
    write_log();
  }

  // Counts a call that is answered later.
  void begin_pending() noexcept;
  void end_pending() noexcept { --pending_; }
  int pending() const noexcept { return pending_; }

  // Replaces the limits with those of `texts`.  Throws error_already_set.
  void reload(const pybind11::list& texts);
  // Replaces the descriptors with those of `files`.  Throws error_already_set.
  void reload_descriptors(const pybind11::list& files);
  // Does what limitree_limiter_put does.  Throws error_already_set.
  void put(std::string_view name, std::string_view yaml, std::int32_t replace);

  // Begins again with full buckets, as after the constructor; for tests.
  // Throws if the store is not this process's memory.
  void renew(const pybind11::list& texts, const pybind11::dict& options,
             pybind11::object clock);

  // For the event loop to watch; -1 if there is nothing to watch.
  int loop_fd();
  // Without wake-ups, code that starts a request has to run the loop.
  void set_loop_wakeups(bool on);
  // Completes the requests that the store has answered.
  void run_loop();

  // Gives the answer to a command that the client was to send, by
  // limitree_client_reply.
  bool reply(std::uint64_t token, std::int32_t reply, std::string_view text);

 private:
  template <typename Function, typename... Arguments>
  limitree_status call_unlocked(bool unlocked, Function&& function,
                                Arguments... arguments) {
    if (clock_ && !read_clock()) return LIMITREE_INVALID_ARGUMENT;
    if (closed_) return refuse_closed();
    limitree_error* error = nullptr;
    limitree_status status;
    if (unlocked) {
      forget_parent();
      ++calls_;
      PyThreadState* const thread = PyEval_SaveThread();
      status = function(limiter_, arguments..., &error);
      PyEval_RestoreThread(thread);
      if (--calls_ == 0 && released_) release();
    } else {
      status = function(limiter_, arguments..., &error);
    }
    if (status < 0) {
      write_log();
      raise(status, error);
    }
    return status;
  }

  // Returns a new limiter, made from the arguments of the constructor.  Throws
  // error_already_set.
  limitree_limiter* make(const pybind11::list& texts,
                         const pybind11::dict& options, pybind11::object clock);
  static void take_command(const limitree_command* command,
                           void* native) noexcept;
  void send(const limitree_command& command);
  bool read_clock();
  static limitree_status refuse_closed();
  static std::int64_t last_time(void* now_ns) noexcept;
  // In a child of fork(), forgets the calls of the parent, which end elsewhere.
  void forget_parent() noexcept;
  void release() noexcept;
  void write_messages();
  void warn_full();

  LogQueue log_;
  limitree_limiter* limiter_ = nullptr;
  // Of the process pid_.
  int calls_ = 0;    // running without the interpreter lock
  int pending_ = 0;  // not completed yet
  int pid_;
  bool closed_ = false;
  bool released_ = false;  // after the last call
  bool warned_full_ = false;
  bool is_remote_ = false;
  bool is_shared_ = false;
  const bool with_levels_;
  pybind11::list descriptors_;  // as given; a reload of the limits keeps them
  const bool merge_domains_;
  const pybind11::object client_;  // None: the limiter has its own connections
  const bool is_cluster_;
  pybind11::object clock_;  // null: the system's clock
  // The time before the call: the library must not run Python code, which could
  // fail, or call the limiter.
  std::atomic<std::int64_t> now_ns_{0};
};

// The limitree_completion_fn of every limiter; it is in pending.cpp.
void complete(const limitree_completion* completions, std::size_t count,
              void* user_data) noexcept;

// The Native of a limitree._native.Limiter; null if __init__ did not run.
Native* native_of(PyObject* self);

}  // namespace limitree::python
