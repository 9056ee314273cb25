// Fields of the structs of limitree.h in Python: one getter for all of them.  A
// Field has the position and the type of the number.

#ifndef LIMITREE_PYTHON_FIELDS_HPP
#define LIMITREE_PYTHON_FIELDS_HPP

#include <Python.h>

#include <cstddef>

namespace limitree::python {

enum class Kind {
  kCount,    // int64_t: int
  kSeconds,  // int64_t of nanoseconds: float
  kWait,     // the same; None for -1, math.inf for LIMITREE_NEVER
  kFact,     // int32_t: bool
  kNot,      // int32_t: its opposite
  kIndex,    // int32_t: int
};

struct Field {
  Kind kind;
  std::size_t offset;  // from the start of the Python object
};

// Returns `field` of `self` as a new reference.
PyObject* read_field(PyObject* self, const Field& field);

// A getter for PyGetSetDef; `closure` is a const Field*.
inline PyObject* get_field(PyObject* self, void* closure) {
  return read_field(self, *static_cast<const Field*>(closure));
}

// A line of PyGetSetDef, which only takes void*.
inline PyGetSetDef getter(const char* name, const Field* field,
                          const char* doc) {
  return {name, get_field, nullptr, doc, const_cast<Field*>(field)};
}

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_FIELDS_HPP
