// What is behind a Python limiter: the handle of limitree.h, and when it may be
// released.
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

  // Calls that another thread is in the middle of come to their end first; the
  // last of them releases.
  void close() noexcept;
  bool closed() const noexcept { return closed_; }

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
  // The same for what takes long in any store.
  template <typename Function>
  bool call_long(Function&& function) {
    return call(true, std::forward<Function>(function));
  }
  // The same for what never waits.
  template <typename Function>
  bool call_at_once(Function&& function) {
    return call(false, std::forward<Function>(function));
  }

  // Swaps the limits for those of `texts`.  Throws error_already_set.
  void reload(const pybind11::list& texts);

  // Watched by the event loop; -1 if there is nothing to watch.
  int loop_fd();
  // Completes what the store has answered.
  void run_loop();

 private:
  template <typename Function>
  bool call(bool unlocked, Function&& function) {
    if (clock_ && !read_clock()) return false;
    if (closed_) return refuse_closed();
    limitree_error* error = nullptr;
    limitree_status status;
    if (unlocked) {
      ++calls_;
      PyThreadState* const thread = PyEval_SaveThread();
      status = function(limiter_, &error);
      PyEval_RestoreThread(thread);
      if (--calls_ == 0 && closed_) release();
    } else {
      status = function(limiter_, &error);
    }
    if (status >= 0) return true;
    raise(status, error);
    return false;
  }

  bool read_clock();
  static bool refuse_closed();
  static std::int64_t last_time(void* now_ns) noexcept;
  void release() noexcept;

  limitree_limiter* limiter_ = nullptr;
  int calls_ = 0;  // that run without the interpreter's lock
  bool closed_ = false;
  const bool is_remote_;
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
