// Immutable Python types around a struct of limitree.h, whose layout never
// changes: their attributes, equality, hash and state, and the types
// themselves, which only C++ can instantiate.
//
// The Object that these functions take has a `value`, the struct, and a `part`,
// the Python object that belongs to it, or null.

#pragma once

#include <Python.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "compat.hpp"
#include "limitree.h"

namespace limitree::python {

// ---- Attributes -------------------------------------------------------------

// A number of a struct as a new Python object.
inline PyObject* as_count(std::int64_t number) {
  return PyLong_FromLongLong(number);
}
inline PyObject* as_bool(std::int64_t number) {
  return PyBool_FromLong(number);
}
inline PyObject* as_opposite(std::int64_t number) {
  return PyBool_FromLong(static_cast<long>(number == 0));
}
inline PyObject* as_seconds(std::int64_t ns) {
  return PyFloat_FromDouble(static_cast<double>(ns) / 1e9);
}
// None for -1, math.inf for LIMITREE_NEVER.
inline PyObject* as_wait(std::int64_t ns) {
  if (ns < 0) Py_RETURN_NONE;
  if (ns == LIMITREE_NEVER) {
    return PyFloat_FromDouble(std::numeric_limits<double>::infinity());
  }
  return as_seconds(ns);
}

// The definition of an attribute that cannot be set.
inline PyGetSetDef attribute(const char* name, ::getter get, const char* doc) {
  return {name, get, nullptr, doc, nullptr};
}

// The same for the attribute `name`: `member`, converted by `convert`.
template <typename Object, auto member, PyObject* convert(std::int64_t)>
PyGetSetDef getter(const char* name, const char* doc) {
  const auto get = [](PyObject* self, void* /*closure*/) {
    return convert(reinterpret_cast<Object*>(self)->value.*member);
  };
  return attribute(name, get, doc);
}

// ---- Equality, hash and state -----------------------------------------------

template <typename Object>
PyObject* part_of(PyObject* self) {
  PyObject* const part = reinterpret_cast<Object*>(self)->part;
  return part == nullptr ? Py_None : part;
}

// The bytes of the struct, for pickle and copy.  Null: a Python error is set.
template <typename Object>
PyObject* state_of(PyObject* self) {
  const auto& value = reinterpret_cast<Object*>(self)->value;
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

// Returns the function of limitree._native that restores an object.  Null: a
// Python error is set.
inline PyObject* restorer(const char* name) {
  PyObject* const module = PyImport_ImportModule("limitree._native");
  if (module == nullptr) return nullptr;
  PyObject* const function = PyObject_GetAttrString(module, name);
  Py_DECREF(module);
  return function;
}

// Objects of one type are equal if all of their fields are.
template <typename Object>
PyObject* compare_values(PyObject* self, PyObject* other, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) ||
      Py_TYPE(other) != Py_TYPE(self)) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  const auto& value = reinterpret_cast<Object*>(self)->value;
  int equal = static_cast<int>(
      std::memcmp(&value, &reinterpret_cast<Object*>(other)->value,
                  sizeof value) == 0);
  if (equal != 0) {
    equal = PyObject_RichCompareBool(part_of<Object>(self),
                                     part_of<Object>(other), Py_EQ);
  }
  if (equal < 0) return nullptr;
  return PyBool_FromLong(
      static_cast<long>((equal != 0) == (operation == Py_EQ)));
}

template <typename Object>
Py_hash_t hash_value(PyObject* self) {
  PyObject* const fields =
      Py_BuildValue("(NO)", state_of<Object>(self), part_of<Object>(self));
  if (fields == nullptr) return -1;
  const Py_hash_t hash = PyObject_Hash(fields);
  Py_DECREF(fields);
  return hash;
}

// ---- Types ------------------------------------------------------------------

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
