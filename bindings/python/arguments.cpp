#include "arguments.hpp"

#include <algorithm>
#include <new>

namespace py = pybind11;

namespace limitree::python {

namespace {

bool refuse_segment(PyObject* value, const char* name, Py_ssize_t index) {
  const char* const is = Py_TYPE(value)->tp_name;
  if (index < 0) {
    PyErr_Format(PyExc_TypeError, "%s must be str or bytes, not %.200s", name,
                 is);
  } else {
    PyErr_Format(PyExc_TypeError, "%s[%zd] must be str or bytes, not %.200s",
                 name, index, is);
  }
  return false;
}

bool is(PyObject* name, const char* text) {
  return PyUnicode_CompareWithASCIIString(name, text) == 0;
}

}  // namespace

bool read_segment(PyObject* value, const char* name, Py_ssize_t index,
                  limitree_str* segment) {
  Py_ssize_t size;
  if (PyUnicode_Check(value)) {
    segment->data = PyUnicode_AsUTF8AndSize(value, &size);
    if (segment->data == nullptr) return false;
  } else if (PyBytes_Check(value)) {
    segment->data = PyBytes_AS_STRING(value);
    size = PyBytes_GET_SIZE(value);
  } else {
    return refuse_segment(value, name, index);
  }
  segment->size = static_cast<std::size_t>(size);
  return true;
}

bool read_number(PyObject* value, std::int64_t* cost, const char* unit) {
  PyObject* number = nullptr;
  const char* const in = unit == nullptr ? "" : " in ";
  if (unit == nullptr) unit = "";
  if (!PyLong_Check(value)) {
    if (!PyIndex_Check(value)) {
      PyErr_Format(PyExc_TypeError, "cost%s%.200s must be int, not %.200s", in,
                   unit, Py_TYPE(value)->tp_name);
      return false;
    }
    number = PyNumber_Index(value);  // a number of another library
    if (number == nullptr) return false;
    value = number;
  }
  int overflow = 0;
  *cost = PyLong_AsLongLongAndOverflow(value, &overflow);
  Py_XDECREF(number);
  if (overflow == 0) return true;
  PyErr_Format(
      PyExc_OverflowError, "cost%s%.200s %s", in, unit,
      overflow > 0 ? "must be at most 2**63 - 1" : "must not be negative");
  return false;
}

bool read_cost(PyObject* value, Options* options) {
  if (PyLong_Check(value)) [[likely]] {
    int overflow = 0;
    options->cost = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow == 0) [[likely]]
      return true;
  } else if (UnitCosts::are(value)) {
    options->units = value;
    options->needs |= kUnits;
    return true;
  }
  return read_number(value, &options->cost);  // the others, and the errors
}

bool read_levels(PyObject* value, Options* options) {
  bool levels = (options->needs & kLevels) != 0;
  if (!read_switch(value, "levels", &levels)) return false;
  options->needs = (options->needs & kUnits) | (levels ? kLevels : kNothing);
  return true;
}

bool UnitCosts::are(PyObject* value) {
  return PyDict_Check(value) || PyObject_HasAttrString(value, "keys") != 0;
}

bool UnitCosts::read(PyObject* mapping) {
  items_ = py::reinterpret_steal<py::object>(PyMapping_Items(mapping));
  if (!items_) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items_.ptr()); ++i) {
    PyObject* const item = PyList_GET_ITEM(items_.ptr(), i);
    if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) != 2) {
      PyErr_SetString(PyExc_TypeError, "the items of a cost must be pairs");
      return false;
    }
    if (!read_one(PyTuple_GET_ITEM(item, 0), PyTuple_GET_ITEM(item, 1))) {
      return false;
    }
  }
  return true;
}

bool UnitCosts::read_cost(PyObject* value, std::int64_t* requests) {
  if (PyLong_Check(value) || !are(value)) return read_number(value, requests);
  return read(value) && (requests_ == nullptr ||
                         read_number(requests_, requests, kRequestUnit));
}

bool UnitCosts::read_one(PyObject* unit, PyObject* value) {
  if (!PyUnicode_Check(unit)) {
    PyErr_Format(PyExc_TypeError, "the unit of a cost must be str, not %.200s",
                 Py_TYPE(unit)->tp_name);
    return false;
  }
  if (is(unit, kRequestUnit)) {
    requests_ = value;
    return true;
  }
  limitree_cost cost;
  if (!read_segment(unit, "unit", -1, &cost.unit) ||
      !read_number(value, &cost.units, cost.unit.data)) {
    return false;
  }
  try {
    others_.push_back(cost);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
    return false;
  }
  return true;
}

bool read_switch(PyObject* value, const char* name, bool* out) {
  if (value == Py_None) return true;
  if (!PyBool_Check(value)) {
    PyErr_Format(PyExc_TypeError, "%s must be bool, not %.200s", name,
                 Py_TYPE(value)->tp_name);
    return false;
  }
  *out = value == Py_True;
  return true;
}

bool Path::read(PyObject* const* values, Py_ssize_t count, const char* name) {
  size_ = static_cast<std::size_t>(count);
  limitree_str* segments = few_.data();
  if (size_ > few_.size()) {
    try {
      many_.resize(size_);
    } catch (const std::bad_alloc&) {
      PyErr_NoMemory();
      return false;
    }
    segments = many_.data();
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!read_segment(values[i], name, i, &segments[i])) return false;
  }
  return true;
}

bool Signature::place(const Arguments& arguments, PyObject** values) const {
  std::fill_n(values, names.size(), nullptr);
  const auto given = static_cast<std::size_t>(arguments.positional);
  if (given > positional) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %zu positional arguments",
                 function, positional);
    return false;
  }
  std::copy_n(arguments.values, given, values);
  const Py_ssize_t named =
      arguments.names == nullptr ? 0 : PyTuple_GET_SIZE(arguments.names);
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(arguments.names, i);
    const auto at = static_cast<std::size_t>(
        std::find_if(names.begin(), names.end(),
                     [&](const char* text) { return is(name, text); }) -
        names.begin());
    if (at == names.size() || values[at] != nullptr) {
      PyErr_Format(PyExc_TypeError,
                   "%s() got an unexpected keyword argument '%U'", function,
                   name);
      return false;
    }
    values[at] = arguments.values[arguments.positional + i];
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (values[i] != nullptr) continue;
    PyErr_Format(PyExc_TypeError, "%s() needs the argument '%s'", function,
                 names[i]);
    return false;
  }
  return true;
}

}  // namespace limitree::python
