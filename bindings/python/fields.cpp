#include "fields.hpp"

#include <cstdint>
#include <cstring>
#include <limits>

#include "limitree.h"

namespace limitree::python {

namespace {

template <typename Number>
Number number_at(PyObject* self, std::size_t offset) {
  Number number;
  std::memcpy(&number, reinterpret_cast<const char*>(self) + offset,
              sizeof number);
  return number;
}

PyObject* seconds(std::int64_t ns) {
  return PyFloat_FromDouble(static_cast<double>(ns) / 1e9);
}

PyObject* wait(std::int64_t ns) {
  if (ns < 0) Py_RETURN_NONE;
  if (ns == LIMITREE_NEVER) {
    return PyFloat_FromDouble(std::numeric_limits<double>::infinity());
  }
  return seconds(ns);
}

}  // namespace

PyObject* read_field(PyObject* self, const Field& field) {
  switch (field.kind) {
    case Kind::kCount:
      return PyLong_FromLongLong(number_at<std::int64_t>(self, field.offset));
    case Kind::kSeconds:
      return seconds(number_at<std::int64_t>(self, field.offset));
    case Kind::kWait:
      return wait(number_at<std::int64_t>(self, field.offset));
    case Kind::kFact:
      return PyBool_FromLong(number_at<std::int32_t>(self, field.offset));
    case Kind::kNot:
      return PyBool_FromLong(number_at<std::int32_t>(self, field.offset) == 0);
    case Kind::kIndex:
      return PyLong_FromLong(number_at<std::int32_t>(self, field.offset));
  }
  Py_UNREACHABLE();
}

}  // namespace limitree::python
