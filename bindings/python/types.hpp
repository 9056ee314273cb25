// Makes types that only C++ can instantiate.

#ifndef LIMITREE_PYTHON_TYPES_HPP
#define LIMITREE_PYTHON_TYPES_HPP

#include <Python.h>

#include <cstring>

#include "compat.hpp"

namespace limitree::python {

// PyType_Slot takes functions and texts as void*.
template <typename Value>
PyType_Slot slot(int id, Value* value) {
  return {id, reinterpret_cast<void*>(value)};
}
inline PyType_Slot slot(int id, const char* text) {
  return {id, const_cast<char*>(text)};
}

// Makes the type `name`, "limitree.Level", adds it to `module` under its last
// word and leaves a reference to it in *type.  False: a Python error is set.
inline bool add_type(PyObject* module, const char* name, std::size_t size,
                     PyType_Slot* slots, PyTypeObject** type) {
#if PY_VERSION_HEX < 0x030A0000
  constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT;
#else
  constexpr unsigned kFlags =
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
#endif
  PyType_Spec spec = {name, static_cast<int>(size), 0, kFlags, slots};
  PyObject* const made = PyType_FromSpec(&spec);
  if (made == nullptr) return false;
  *type = reinterpret_cast<PyTypeObject*>(made);
#if PY_VERSION_HEX < 0x030A0000
  (*type)->tp_new = nullptr;  // inherited: this is how 3.9 disallows it
#endif
  return PyModule_AddObjectRef(module, std::strrchr(name, '.') + 1, made) == 0;
}

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_TYPES_HPP
