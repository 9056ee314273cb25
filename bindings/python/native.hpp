// What is behind a Python limiter: the handle of limitree.h, when it may be
// released, and who is told that its store fails or is full.
//
// Everything here is guarded by the interpreter's lock, which a call gives up
// only while a store on another machine answers: in memory a decision takes
// less time than to let go of the lock and to take it again.

#ifndef LIMITREE_PYTHON_NATIVE_HPP
#define LIMITREE_PYTHON_NATIVE_HPP

#include <Python.h>
#include <pybind11/pybind11.h>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

#include "errors.hpp"
#include "limitree.h"

namespace limitree::python {

class Native {
 public:
  // `texts` holds pairs of YAML and what to call it, both bytes; `options` are
  // pairs of texts; `clock` is a callable that returns the time in nanoseconds,
  // or None.  Throws error_already_set.
  Native(const pybind11::list& texts, const pybind11::dict& options,
         pybind11::object clock, bool with_levels);
  ~Native();
  Native(const Native&) = delete;
  Native& operator=(const Native&) = delete;

  // Refuses calls from now on; those under way go on.
  void refuse() noexcept { closed_ = true; }
  // Calls that another thread is in the middle of come to their end first; the
  // last of them releases.
  void close() noexcept;
  bool closed() const noexcept { return closed_; }
  // How many calls are under way.
  int busy() const noexcept { return calls_ + pending_; }

  // Whether a decision may have to wait for another machine.
  bool is_remote() const noexcept { return is_remote_; }

  // Whether decisions carry their levels if a call does not say.
  bool with_levels() const noexcept { return with_levels_; }

  // Runs `function(limiter, &error)`, one call of limitree.h.  False: it failed
  // or could not be made, and a Python error is set.
  //
  // Not noexcept, nor are its callers: a thread that comes back when the
  // interpreter is gone is ended in here by unwinding its stack.
  template <typename Function>
  bool call(Function&& function) {
    return call(is_remote_, std::forward<Function>(function));
  }
  // The same for what a store decides: its failure is noted.
  template <typename Function>
  bool decide(Function&& function) {
    return call(is_remote_, std::forward<Function>(function), true);
  }
  // The same for what never waits.
  template <typename Function>
  bool decide_at_once(Function&& function) {
    return call(false, std::forward<Function>(function), true);
  }
  // The same for what takes long in any store.
  template <typename Function>
  bool call_long(Function&& function) {
    return call(true, std::forward<Function>(function));
  }

  // Has `outage`, a limitree.outage.Outage, told of decisions while the store
  // fails, and of the first ones after that.
  void watch_store(pybind11::object outage) { outage_ = std::move(outage); }
  // Python code may run in there, and close the limiter.
  void note(const limitree_decision& decision) {
    const bool degraded = (decision.flags & LIMITREE_DEGRADED) != 0;
    if ((degraded || away_) && outage_) tell(&decision);
    if ((decision.flags & LIMITREE_FORGOT) != 0) [[unlikely]]
      warn_full();
  }
  void note_failure() {
    if (outage_) tell(nullptr);
  }
  static bool is_failure_of_store(limitree_status status) noexcept {
    return status == LIMITREE_STORE_UNAVAILABLE ||
           status == LIMITREE_STORE_TIMEOUT ||
           status == LIMITREE_STORE_PROTOCOL;
  }

  // Counts a call whose answer is to come.
  void begin_pending() noexcept;
  void end_pending() noexcept { --pending_; }
  int pending() const noexcept { return pending_; }

  // Swaps the limits for those of `texts`.  Throws error_already_set.
  void reload(const pybind11::list& texts);

  // Watched by the event loop; -1 if there is nothing to watch.
  int loop_fd();
  // Without them whoever asks for something runs the loop afterwards.
  void set_loop_wakeups(bool on);
  // Completes what the store has answered.
  void run_loop();

 private:
  template <typename Function>
  bool call(bool unlocked, Function&& function, bool is_decision = false) {
    if (clock_ && !read_clock()) return false;
    if (closed_) return refuse_closed();
    limitree_error* error = nullptr;
    limitree_status status;
    if (unlocked) {
      ++calls_;
      PyThreadState* const thread = PyEval_SaveThread();
      status = function(limiter_, &error);
      PyEval_RestoreThread(thread);
      if (--calls_ == 0 && released_) release();
    } else {
      status = function(limiter_, &error);
    }
    if (status >= 0) return true;
    if (is_decision && is_failure_of_store(status)) note_failure();
    raise(status, error);
    return false;
  }

  bool read_clock();
  static bool refuse_closed();
  static std::int64_t last_time(void* now_ns) noexcept;
  void release() noexcept;
  void tell(const limitree_decision* decision);
  void warn_full();

  limitree_limiter* limiter_ = nullptr;
  int calls_ = 0;    // that run without the interpreter's lock
  int pending_ = 0;  // that are to be completed in the process pid_
  int pid_ = 0;
  bool closed_ = false;
  bool released_ = false;    // once no call runs
  pybind11::object outage_;  // null: nobody is told
  bool away_ = false;        // what it has said last
  bool warned_full_ = false;
  bool is_remote_ = false;
  const bool with_levels_;
  pybind11::object clock_;  // null: the system's
  // What the clock said before the call: Python code is not run from inside of
  // one, where it could fail or come back to the limiter.
  std::atomic<std::int64_t> now_ns_{0};
};

// The Native of a limitree._native.Limiter or null, where __init__ was not run.
Native* native_of(PyObject* self);

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_NATIVE_HPP
