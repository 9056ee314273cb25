#include "path_list.hpp"

#include <array>
#include <cstdio>

#include "arguments.hpp"

namespace py = pybind11;

namespace limitree::python {

namespace {

// Returns the items of `value` as a tuple, or nothing with TypeError set.
py::object items_of(PyObject* value, const char* name, const char* of_what) {
  if (PyUnicode_Check(value) || PyBytes_Check(value) ||
      Py_TYPE(value)->tp_iter == nullptr) {
    PyErr_Format(PyExc_TypeError, "%s must be a sequence of %s, not %.200s",
                 name, of_what, Py_TYPE(value)->tp_name);
    return {};
  }
  return py::reinterpret_steal<py::object>(PySequence_Tuple(value));
}

}  // namespace

bool PathList::read(PyObject* paths, PyObject* costs) {
  const py::object list = items_of(paths, "paths", "paths");
  if (!list) return false;
  const Py_ssize_t count = PyTuple_GET_SIZE(list.ptr());
  for (Py_ssize_t i = 0; i < count; ++i) {
    std::array<char, 40> name;
    std::snprintf(name.data(), name.size(), "paths[%zd]", i);
    if (!append(PyTuple_GET_ITEM(list.ptr(), i), name.data(), 1)) return false;
  }
  return costs == nullptr || read_costs(costs);
}

bool PathList::read_costs(PyObject* costs) {
  if (!PyList_Check(costs) && !PyTuple_Check(costs)) {
    std::int64_t cost;
    if (!read_cost(costs, &cost)) return false;
    for (limitree_path& path : paths_) path.cost = cost;
    return true;
  }
  const auto list = py::reinterpret_steal<py::object>(PySequence_Tuple(costs));
  if (!list) return false;
  const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(list.ptr()));
  if (count != paths_.size()) {
    PyErr_Format(PyExc_ValueError, "there are %zu paths and %zu costs",
                 paths_.size(), count);
    return false;
  }
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* const cost =
        PyTuple_GET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i));
    if (!read_cost(cost, &paths_[i].cost)) return false;
  }
  return true;
}

bool PathList::read_one(PyObject* path, std::int64_t cost) {
  return append(path, "path", cost);
}

bool PathList::append(PyObject* path, const char* name, std::int64_t cost) {
  py::object items = items_of(path, name, "segments");
  if (!items) return false;
  const Py_ssize_t count = PyTuple_GET_SIZE(items.ptr());
  std::vector<limitree_str> segments(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!read_segment(PyTuple_GET_ITEM(items.ptr(), i), name, i,
                      &segments[static_cast<std::size_t>(i)])) {
      return false;
    }
  }
  paths_.push_back({segments.data(), segments.size(), cost});
  segments_.push_back(std::move(segments));
  owners_.push_back(std::move(items));
  return true;
}

}  // namespace limitree::python
