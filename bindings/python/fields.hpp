// How a field of a struct of limitree.h reads in Python: one getter for all,
// told by a Field where the number lies and what it is.

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
  std::size_t offset;  // from the begin of the Python object
};

// Returns a new reference to what `field` of `self` is.
PyObject* read_field(PyObject* self, const Field& field);

// A getter for PyGetSetDef; `closure` is a const Field*.
inline PyObject* get_field(PyObject* self, void* closure) {
  return read_field(self, *static_cast<const Field*>(closure));
}

// A line of PyGetSetDef: PyGetSetDef takes void* only.
inline PyGetSetDef getter(const char* name, const Field* field,
                          const char* doc) {
  return {name, get_field, nullptr, doc, const_cast<Field*>(field)};
}

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_FIELDS_HPP
