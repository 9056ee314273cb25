#include "native.hpp"

#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "compat.hpp"
#include "limitree.hpp"

namespace py = pybind11;

namespace limitree::python {

namespace {

void set_options(const py::dict& options, Config* config) {
  for (const auto& [key, value] : options) {
    const auto name = key.cast<std::string>();
    try {
      config->set(name, value.cast<std::string_view>());
    } catch (const Error& error) {
      if (error.status() != LIMITREE_INVALID_ARGUMENT) throw;
      throw py::type_error("unexpected option '" + name + "': " + error.what());
    }
  }
}

// Reading limits may take long, so other threads run meanwhile.
void add_limits(const py::list& texts, Config* config) {
  for (const py::handle text : texts) {
    const auto [yaml, origin] =
        text.cast<std::pair<std::string_view, std::string_view>>();
    const py::gil_scoped_release unlocked;
    config->add_limits(yaml, origin);
  }
}

// All files at once, so that each mistake is reported.
void add_descriptors(const py::list& texts, bool merge, Config* config) {
  std::vector<limitree_file> files;
  for (const py::handle text : texts) {
    const auto [yaml, name] =
        text.cast<std::pair<std::string_view, std::string_view>>();
    files.push_back({to_str(yaml), to_str(name)});
  }
  const py::gil_scoped_release unlocked;
  config->add_descriptors(files, merge);
}

}  // namespace

void check_options(const py::dict& options) {
  Config config;
  set_options(options, &config);
  check(limitree_config_check, config.get());
}

Native::Native(const py::list& texts, const py::dict& options, py::object clock,
               bool with_levels, const std::pair<py::list, bool>& descriptors,
               const std::pair<py::object, bool>& client)
    : pid_(getpid()),
      with_levels_(with_levels),
      descriptors_(descriptors.first),
      merge_domains_(descriptors.second),
      client_(client.first),
      is_cluster_(client.second) {
  limiter_ = make(texts, options, std::move(clock));
  is_remote_ = limitree_limiter_is_remote(limiter_) != 0;
  is_shared_ = limitree_limiter_is_shared(limiter_) != 0;
}

limitree_limiter* Native::make(const py::list& texts, const py::dict& options,
                               py::object clock) {
  Config config;
  set_options(options, &config);
  clock_ = clock.is_none() ? py::object() : std::move(clock);
  if (clock_) {
    require(read_clock());
    config.set_clock(last_time, &now_ns_);
  }
  check(limitree_config_set_completion, config.get(), complete, this, nullptr);
  if (!client_.is_none()) {
    check(limitree_config_set_client, config.get(), take_command,
          is_cluster_ ? LIMITREE_CLIENT_CLUSTER : 0, this, nullptr);
  }
  config.set_log(LogQueue::add, &log_);
  add_limits(texts, &config);
  add_descriptors(descriptors_, merge_domains_, &config);
  limitree_limiter* limiter = nullptr;
  check(limitree_limiter_new, config.get(), &limiter);
  return limiter;
}

Native::~Native() { close(); }

void Native::close() noexcept {
  closed_ = true;
  forget_parent();
  if (std::exchange(released_, true) || calls_ > 0) return;
  release();
}

void Native::release() noexcept {
  limitree_limiter_free(std::exchange(limiter_, nullptr));
}

void Native::reload(const py::list& texts) {
  Config config;
  add_limits(texts, &config);
  add_descriptors(descriptors_, merge_domains_, &config);
  run_long(limitree_limiter_reload_config, config.get());
}

void Native::reload_descriptors(const py::list& files) {
  Config config;
  add_descriptors(files, merge_domains_, &config);
  run_long(limitree_limiter_reload_descriptors, config.get());
  descriptors_ = files;
}

void Native::put(std::string_view name, std::string_view yaml,
                 std::int32_t replace) {
  run_long(limitree_limiter_put, to_str(name), to_str(yaml), to_str("limits"),
           replace);
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

void Native::forget_parent() noexcept {
  const int pid = getpid();
  if (std::exchange(pid_, pid) != pid) calls_ = pending_ = 0;
}

void Native::begin_pending() noexcept {
  forget_parent();
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
  forget_parent();
  ++calls_;  // callbacks of futures may let another thread close
  limitree_loop_run(limiter_);
  if (--calls_ == 0 && released_) release();
}

bool Native::reply(std::uint64_t token, std::int32_t reply,
                   std::string_view text) {
  return !released_ &&
         limitree_client_reply(limiter_, token, reply, to_str(text)) != 0;
}

// Calls client_(token, words, seconds).  What it raises has sent nothing.
void Native::send(const limitree_command& command) {
  const py::error_scope error_of_caller;
  try {
    py::list words;
    for (std::size_t i = 0; i < command.word_count; ++i) {
      words.append(py::bytes(to_view(command.words[i])));
    }
    client_(command.token, words,
            static_cast<double>(command.timeout_ns) / 1e9);
  } catch (const std::exception& failure) {
    // The lines after the first one tell where in the files.
    const std::string text = failure.what();
    reply(command.token, LIMITREE_REPLY_UNSENT,
          text.substr(0, text.find('\n')));
  }
}

void Native::take_command(const limitree_command* command,
                          void* native) noexcept {
  if (is_finalizing()) return;  // nobody waits for an answer
  try {
    const py::gil_scoped_acquire locked;
    static_cast<Native*>(native)->send(*command);
  } catch (...) {
    // There is no memory to say why: the call ends at its deadline.
  }
}

limitree_status Native::refuse_closed() {
  PyErr_SetString(PyExc_RuntimeError, "the limiter is closed");
  return LIMITREE_INVALID_ARGUMENT;
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
