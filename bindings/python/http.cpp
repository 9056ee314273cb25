#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "decision.hpp"
#include "errors.hpp"
#include "limitree.hpp"
#include "module.hpp"

namespace py = pybind11;

namespace limitree::python {

namespace {

// The levels of a decision as C has them.
class Levels {
 public:
  // `levels` is a tuple of Level, or null.  False: a Python error is set.
  bool read(PyObject* levels) {
    if (levels == nullptr) return true;
    const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(levels));
    for (std::size_t i = 0; i < count; ++i) {
      const auto& object = *reinterpret_cast<LevelObject*>(
          PyTuple_GET_ITEM(levels, static_cast<Py_ssize_t>(i)));
      Py_ssize_t size = 0;
      const char* const policy =
          PyUnicode_AsUTF8AndSize(policy_of(object), &size);
      if (policy == nullptr) return false;
      levels_[i] = object.value;
      levels_[i].policy = {policy, static_cast<std::size_t>(size)};
      if (PyTuple_Check(object.part)) {
        PyObject* const unit = PyTuple_GET_ITEM(object.part, 1);
        const char* const name = PyUnicode_AsUTF8AndSize(unit, &size);
        if (name == nullptr) return false;
        levels_[i].unit = {name, static_cast<std::size_t>(size)};
      }
    }
    known_ = std::span(levels_).first(count);
    return true;
  }

  KnownLevels get() const { return known_; }

 private:
  std::array<limitree_level, kMaxLevels>
      levels_;  // left as they are until read
  KnownLevels known_;
};

// The arguments of headers().
struct Form {
  std::string_view style = "ietf";
  bool is_epoch = false;  // of the legacy reset

  bool read_style(PyObject* value) {
    limitree_str text;
    if (!read_segment(value, "style", -1, &text)) return false;
    style = to_view(text);
    return true;
  }

  bool read_reset(PyObject* value) {
    limitree_str text;
    if (!read_segment(value, "reset", -1, &text)) return false;
    is_epoch = to_view(text) == "epoch";
    if (is_epoch || to_view(text) == "delta") return true;
    PyErr_Format(PyExc_ValueError, "reset must be delta or epoch, is %R",
                 value);
    return false;
  }

  bool read(const char* function, const Arguments& arguments,
            std::size_t required) {
    static constexpr std::array kNames = {"style", "reset"};
    std::array<PyObject*, kNames.size()> values;
    return Signature{function, kNames, required, kNames.size()}.place(
               arguments, values.data()) &&
           (values[0] == nullptr || read_style(values[0])) &&
           (values[1] == nullptr || read_reset(values[1]));
  }
};

bool needs_levels(std::string_view style) {
  for (std::size_t i = 0; limitree_http_style_at(i) != nullptr; ++i) {
    if (limitree_http_style_at(i) == style) {
      return limitree_http_style_needs_levels(i) != 0;
    }
  }
  return false;
}

// The clock of Python, which tests may have set.
std::int64_t now_ns() {
  const py::object now = py::module_::import("time").attr("time")();
  constexpr double kLast = 9.2e9;  // the last second that fits in nanoseconds
  const double seconds = PyFloat_AsDouble(now.ptr());
  require(PyErr_Occurred() == nullptr);
  return seconds < kLast
             ? static_cast<std::int64_t>(std::max(seconds, 0.0) * 1e9)
             : std::numeric_limits<std::int64_t>::max();
}

PyObject* ascii(std::string_view text) {
  return PyUnicode_DecodeASCII(text.data(),
                               static_cast<Py_ssize_t>(text.size()), nullptr);
}

PyObject* pair_of(std::string_view name, std::string_view value) {
  PyObject* const pair = PyTuple_New(2);
  if (pair == nullptr) return nullptr;
  PyTuple_SET_ITEM(pair, 0, ascii(name));
  PyTuple_SET_ITEM(pair, 1, ascii(value));
  if (PyErr_Occurred() == nullptr) return pair;
  Py_DECREF(pair);
  return nullptr;
}

PyObject* list_of(std::string_view fields) {
  PyObject* list = PyList_New(0);
  for_each_field(fields, [&](std::string_view name, std::string_view value) {
    if (list == nullptr) return;
    PyObject* const pair = pair_of(name, value);
    if (pair == nullptr || PyList_Append(list, pair) < 0) Py_CLEAR(list);
    Py_XDECREF(pair);
  });
  return list;
}

// Raises ValueError unless there are such headers.
void check_style(const py::object& style, const py::object& reset) {
  Form form;
  require(form.read_style(style.ptr()) && form.read_reset(reset.ptr()));
  const auto done = guarded([&] {
    // Without a limit, only the style can be refused.
    limitree_decision unlimited{};
    unlimited.flags = LIMITREE_UNLIMITED;
    static_cast<void>(
        limitree::http_headers(form.style, unlimited, std::nullopt));
    return Py_None;
  });
  require(done != nullptr);
}

}  // namespace

PyObject* http_headers(const limitree_decision& decision, PyObject* levels,
                       const Arguments& arguments) {
  Form form;
  Levels read;
  if (!form.read("headers", arguments, 0) || !read.read(levels)) return nullptr;
  if (levels == nullptr && (decision.flags & LIMITREE_UNLIMITED) == 0 &&
      needs_levels(form.style)) {
    PyErr_SetString(PyExc_ValueError,
                    "these headers name every limit, but the decision was made "
                    "without its levels: give levels=True to the limiter or to "
                    "the call");
    return nullptr;
  }
  return guarded([&] {
    return list_of(limitree::http_headers(form.style, decision, read.get(),
                                          form.is_epoch ? now_ns() : 0)
                       .view());
  });
}

PyObject* http_problem(const limitree_decision& decision, PyObject* levels) {
  Levels read;
  if (!read.read(levels)) return nullptr;
  return guarded([&] {
    const HttpText text = limitree::http_problem(429, decision, read.get());
    return PyBytes_FromStringAndSize(
        text.view().data(), static_cast<Py_ssize_t>(text.view().size()));
  });
}

void bind_http(py::module_& module) {
  module.def("check_style", check_style, py::arg("style"), py::arg("reset"));
}

}  // namespace limitree::python
