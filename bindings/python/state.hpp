// The state for pickle and copy: the bytes of a struct of limitree.h, whose
// layout never changes.

#ifndef LIMITREE_PYTHON_STATE_HPP
#define LIMITREE_PYTHON_STATE_HPP

#include <Python.h>

#include <cstring>

namespace limitree::python {

// Returns the function of limitree._native that restores an object.  Null: a
// Python error is set.
inline PyObject* restorer(const char* name) {
  PyObject* const module = PyImport_ImportModule("limitree._native");
  if (module == nullptr) return nullptr;
  PyObject* const function = PyObject_GetAttrString(module, name);
  Py_DECREF(module);
  return function;
}

// Returns the bytes of `value`; null: a Python error is set.
template <typename Struct>
PyObject* state_of(const Struct& value) {
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(&value),
                                   sizeof value);
}

// Reads a result of state_of().  False: a Python error is set.
template <typename Struct>
bool read_state(PyObject* state, Struct* value) {
  if (PyBytes_GET_SIZE(state) != sizeof *value) {
    PyErr_Format(PyExc_ValueError, "the state must have %zu bytes, has %zd",
                 sizeof *value, PyBytes_GET_SIZE(state));
    return false;
  }
  std::memcpy(value, PyBytes_AS_STRING(state), sizeof *value);
  return true;
}

// Returns the hash of `parts`, whose reference is stolen; null gives -1.
inline Py_hash_t hash_of(PyObject* parts) {
  if (parts == nullptr) return -1;
  const Py_hash_t hash = PyObject_Hash(parts);
  Py_DECREF(parts);
  return hash;
}

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_STATE_HPP
