#include "path_list.hpp"

#include <array>
#include <cstdio>
#include <utility>

namespace py = pybind11;

namespace limitree::python {

namespace {

bool is_iterable(PyObject* value, const char* name, const char* of_what) {
  if (!PyUnicode_Check(value) && !PyBytes_Check(value) &&
      Py_TYPE(value)->tp_iter != nullptr) {
    return true;
  }
  PyErr_Format(PyExc_TypeError, "%s must be a sequence of %s, not %.200s", name,
               of_what, Py_TYPE(value)->tp_name);
  return false;
}

// Returns the items of `value` as a tuple, or nothing with TypeError set.
py::object items_of(PyObject* value, const char* name, const char* of_what) {
  if (!is_iterable(value, name, of_what)) return {};
  return py::reinterpret_steal<py::object>(PySequence_Tuple(value));
}

constexpr std::array kParts = {
    std::pair{"charge", LIMITREE_PART_CHARGE},
    std::pair{"check", LIMITREE_PART_CHECK},
    std::pair{"spend_if_fits", LIMITREE_PART_SPEND_IF_FITS}};

bool read_part(PyObject* value, std::int32_t* part) {
  if (!PyUnicode_Check(value)) {
    PyErr_Format(PyExc_TypeError, "part must be str, not %.200s",
                 Py_TYPE(value)->tp_name);
    return false;
  }
  for (const auto& [name, number] : kParts) {
    if (PyUnicode_CompareWithASCIIString(value, name) != 0) continue;
    *part = number;
    return true;
  }
  PyErr_Format(PyExc_ValueError,
               "part must be charge, check or spend_if_fits, is %R", value);
  return false;
}

bool is_list(PyObject* value) {
  return PyList_Check(value) || PyTuple_Check(value);
}

// The same for paths.  A client may choose their number, so too many are
// refused before any is read.
py::object paths_of(PyObject* value) {
  if (!is_iterable(value, "paths", "paths")) return {};
  if (is_list(value)) {
    const Py_ssize_t count = PySequence_Size(value);
    if (count <= LIMITREE_MAX_PATHS) return items_of(value, "paths", "paths");
    PyErr_Format(PyExc_ValueError, "there are %zd paths, the most is %d", count,
                 LIMITREE_MAX_PATHS);
    return {};
  }
  const auto next = py::reinterpret_steal<py::object>(PyObject_GetIter(value));
  const auto paths = py::reinterpret_steal<py::object>(PyList_New(0));
  if (!next || !paths) return {};
  while (const auto path =
             py::reinterpret_steal<py::object>(PyIter_Next(next.ptr()))) {
    if (PyList_GET_SIZE(paths.ptr()) == LIMITREE_MAX_PATHS) {
      PyErr_Format(PyExc_ValueError, "there are more than %d paths",
                   LIMITREE_MAX_PATHS);
      return {};
    }
    if (PyList_Append(paths.ptr(), path.ptr()) != 0) return {};
  }
  if (PyErr_Occurred() != nullptr) return {};
  return py::reinterpret_steal<py::object>(PyList_AsTuple(paths.ptr()));
}

// Calls `read(value, i)` for each of `count` paths: with `values`, or with the
// values in this list or tuple of as many.  False: a Python error is set.
template <typename Read>
bool for_each(PyObject* values, std::size_t count, const char* name,
              const Read& read) {
  if (!is_list(values)) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!read(values, i)) return false;
    }
    return true;
  }
  const auto list = py::reinterpret_steal<py::object>(PySequence_Tuple(values));
  if (!list) return false;
  const auto found = static_cast<std::size_t>(PyTuple_GET_SIZE(list.ptr()));
  if (found != count) {
    PyErr_Format(PyExc_ValueError, "there are %zu paths and %zu %s", count,
                 found, name);
    return false;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!read(PyTuple_GET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i)), i)) {
      return false;
    }
  }
  return true;
}

bool read_parts(PyObject* parts, std::span<limitree_path> paths) {
  return for_each(parts, paths.size(), "parts",
                  [&](PyObject* part, std::size_t i) {
                    return read_part(part, &paths[i].part);
                  });
}

}  // namespace

bool read_costs(PyObject* costs, std::span<limitree_path> paths,
                UnitCosts* units) {
  const char* unit = nullptr;
  if (!PyLong_Check(costs) && !is_list(costs) && UnitCosts::are(costs)) {
    if (!units->read(costs)) return false;
    costs = units->requests();
    if (costs == nullptr) return true;
    unit = kRequestUnit;
  }
  return for_each(costs, paths.size(), "costs",
                  [&](PyObject* cost, std::size_t i) {
                    return read_number(cost, &paths[i].cost, unit);
                  });
}

bool PathList::read(PyObject* paths, PyObject* costs, PyObject* parts) {
  const py::object list = paths_of(paths);
  if (!list) return false;
  const Py_ssize_t count = PyTuple_GET_SIZE(list.ptr());
  for (Py_ssize_t i = 0; i < count; ++i) {
    std::array<char, 40> name;
    std::snprintf(name.data(), name.size(), "paths[%zd]", i);
    if (!append(PyTuple_GET_ITEM(list.ptr(), i), name.data(), 1)) return false;
  }
  return (costs == nullptr || read_costs(costs, paths_, &units_)) &&
         (parts == nullptr || parts == Py_None || read_parts(parts, paths_));
}

bool PathList::read_one(PyObject* path, PyObject* cost) {
  return append(path, "path", 1) && units_.read_cost(cost, &paths_[0].cost);
}

bool PathList::append(PyObject* path, const char* name, std::int64_t cost) {
  py::object items = items_of(path, name, "segments");
  if (!items) return false;
  const Py_ssize_t count = PyTuple_GET_SIZE(items.ptr());
  Path& segments = segments_.emplace_back();
  if (!segments.read(PySequence_Fast_ITEMS(items.ptr()), count, name)) {
    return false;
  }
  paths_.push_back(
      {segments.data(), segments.size(), cost, LIMITREE_PART_CHARGE});
  owners_.push_back(std::move(items));
  return true;
}

}  // namespace limitree::python
