#include "native.hpp"

#include <unistd.h>

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "compat.hpp"
#include "limitree.hpp"

namespace py = pybind11;

namespace limitree::python {

namespace {

ConfigHandle new_config() {
  ConfigHandle config(limitree_config_new());
  if (config == nullptr) throw std::bad_alloc();
  return config;
}

void set_option(limitree_config* config, const std::string& name,
                std::string_view value) {
  limitree_error* error = nullptr;
  const limitree_status status =
      limitree_config_set(config, name.c_str(), to_str(value), &error);
  if (status == LIMITREE_INVALID_ARGUMENT) {  // in Python, a wrong keyword
    PyErr_Format(PyExc_TypeError, "unexpected option '%s': %s", name.c_str(),
                 limitree_error_message(error));
    limitree_error_free(error);
    throw py::error_already_set();
  }
  if (status < 0) {
    raise(status, error);
    throw py::error_already_set();
  }
}

void set_options(limitree_config* config, const py::dict& options) {
  for (const auto& [name, value] : options) {
    set_option(config, name.cast<std::string>(),
               value.cast<std::string_view>());
  }
}

// Reading limits may take long, so other threads run meanwhile.
void add_limits(limitree_config* config, const py::list& texts) {
  for (const py::handle text : texts) {
    const auto [yaml, origin] =
        text.cast<std::pair<std::string_view, std::string_view>>();
    check([&, yaml = yaml, origin = origin](limitree_error** error) {
      const py::gil_scoped_release unlocked;
      return limitree_config_add_limits(config, to_str(yaml), to_str(origin),
                                        error);
    });
  }
}

// All files at once, so that each mistake is told.
void add_descriptors(limitree_config* config, const py::list& texts,
                     bool merge) {
  std::vector<limitree_file> files;
  for (const py::handle text : texts) {
    const auto [yaml, name] =
        text.cast<std::pair<std::string_view, std::string_view>>();
    files.push_back({to_str(yaml), to_str(name)});
  }
  check([&](limitree_error** error) {
    const py::gil_scoped_release unlocked;
    return limitree_config_add_descriptors(config, files.data(), files.size(),
                                           merge ? 1 : 0, error);
  });
}

}  // namespace

void check_options(const py::dict& options) {
  const auto config = new_config();
  set_options(config.get(), options);
  check([&](limitree_error** error) {
    return limitree_config_check(config.get(), error);
  });
}

Native::Native(const py::list& texts, const py::dict& options, py::object clock,
               bool with_levels, const std::pair<py::list, bool>& descriptors)
    : with_levels_(with_levels),
      descriptors_(descriptors.first),
      merge_domains_(descriptors.second) {
  limiter_ = make(texts, options, std::move(clock));
  is_remote_ = limitree_limiter_is_remote(limiter_) != 0;
  is_shared_ = limitree_limiter_is_shared(limiter_) != 0;
}

limitree_limiter* Native::make(const py::list& texts, const py::dict& options,
                               py::object clock) {
  const auto config = new_config();
  set_options(config.get(), options);
  clock_ = clock.is_none() ? py::object() : std::move(clock);
  if (clock_) {
    if (!read_clock()) throw py::error_already_set();
    check([&](limitree_error** error) {
      return limitree_config_set_clock(config.get(), last_time, &now_ns_,
                                       error);
    });
  }
  check([&](limitree_error** error) {
    return limitree_config_set_completion(config.get(), complete, this, nullptr,
                                          error);
  });
  check([&](limitree_error** error) {
    return limitree_config_set_log(config.get(), LogQueue::add, &log_, nullptr,
                                   error);
  });
  add_limits(config.get(), texts);
  add_descriptors(config.get(), descriptors_, merge_domains_);
  limitree_limiter* limiter = nullptr;
  check([&](limitree_error** error) {
    return limitree_limiter_new(config.get(), &limiter, error);
  });
  return limiter;
}

Native::~Native() { close(); }

void Native::close() noexcept {
  closed_ = true;
  if (std::exchange(released_, true) || calls_ > 0) return;
  release();
}

void Native::release() noexcept {
  limitree_limiter_free(std::exchange(limiter_, nullptr));
}

void Native::reload(const py::list& texts) {
  const auto config = new_config();
  add_limits(config.get(), texts);
  add_descriptors(config.get(), descriptors_, merge_domains_);
  const bool done =
      call_long([&](limitree_limiter* limiter, limitree_error** error) {
        return limitree_limiter_reload_config(limiter, config.get(), error);
      });
  require(done);
}

void Native::reload_descriptors(const py::list& files) {
  const auto config = new_config();
  add_descriptors(config.get(), files, merge_domains_);
  const bool done = call_long([&](limitree_limiter* limiter,
                                  limitree_error** error) {
    return limitree_limiter_reload_descriptors(limiter, config.get(), error);
  });
  require(done);
  descriptors_ = files;
}

void Native::put(std::string_view name, std::string_view yaml,
                 std::int32_t replace) {
  const bool done =
      call_long([&](limitree_limiter* limiter, limitree_error** error) {
        return limitree_limiter_put(limiter, to_str(name), to_str(yaml),
                                    to_str("limits"), replace, error);
      });
  require(done);
}

void Native::write_messages() {
  if (is_finalizing()) return;
  const py::error_scope error_of_caller;
  try {
    const std::vector<LogQueue::Message> messages = log_.take();
    const py::object logger =
        py::module_::import("logging").attr("getLogger")("limitree");
    for (const LogQueue::Message& message : messages) {
      logger.attr("warning")("%s", python_text(to_str(message.text)));
    }
  } catch (py::error_already_set& failure) {
    failure.discard_as_unraisable("limitree: the log of a store");
  } catch (const std::bad_alloc&) {
    // The counters have what is lost.
  }
}

// One warning is enough: the counters have the rest.
void Native::warn_full() {
  if (std::exchange(warned_full_, true)) return;
  LogQueue::add(
      0,
      to_str("the store is full of callers at their limits: some are "
             "forgotten, and may begin again; raise max_buckets, or max_bytes "
             "for limits with logs"),
      &log_);
}

void Native::begin_pending() noexcept {
  const int pid = getpid();
  if (std::exchange(pid_, pid) != pid) pending_ = 0;  // the calls of the parent
  ++pending_;
}

void Native::renew(const py::list& texts, const py::dict& options,
                   py::object clock) {
  if (is_shared_ || busy() > 0) {
    throw std::runtime_error("only an idle limiter in memory can begin again");
  }
  limitree_limiter* const made = make(texts, options, std::move(clock));
  limitree_limiter_free(std::exchange(limiter_, made));
}

int Native::loop_fd() { return released_ ? -1 : limitree_loop_fd(limiter_); }

void Native::set_loop_wakeups(bool on) {
  if (!released_) limitree_loop_set_wakeups(limiter_, on ? 1 : 0);
}

void Native::run_loop() {
  if (released_) return;
  ++calls_;  // callbacks of futures may let another thread close
  limitree_loop_run(limiter_);
  if (--calls_ == 0 && released_) release();
}

bool Native::refuse_closed() {
  PyErr_SetString(PyExc_RuntimeError, "the limiter is closed");
  return false;
}

std::int64_t Native::last_time(void* now_ns) noexcept {
  return static_cast<std::atomic<std::int64_t>*>(now_ns)->load(
      std::memory_order_relaxed);
}

bool Native::read_clock() {
  PyObject* const time = PyObject_CallNoArgs(clock_.ptr());
  if (time == nullptr) return false;
  if (!PyLong_Check(time)) {
    PyErr_Format(PyExc_TypeError,
                 "clock must return nanoseconds as an int, not %.200s",
                 Py_TYPE(time)->tp_name);
    Py_DECREF(time);
    return false;
  }
  const std::int64_t now_ns = PyLong_AsLongLong(time);
  Py_DECREF(time);
  if (now_ns == -1 && PyErr_Occurred() != nullptr) return false;
  now_ns_.store(now_ns, std::memory_order_relaxed);
  return true;
}

Native* native_of(PyObject* self) {
  auto* const instance = reinterpret_cast<py::detail::instance*>(self);
  void* const native = instance->simple_layout
                           ? instance->simple_value_holder[0]
                           : instance->get_value_and_holder().value_ptr();
  if (native == nullptr) {
    PyErr_SetString(PyExc_RuntimeError,
                    "the limiter was not initialized: call __init__ first");
  }
  return static_cast<Native*>(native);
}

}  // namespace limitree::python
