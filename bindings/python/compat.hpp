// Functions that older versions of CPython lack or call by another name.

#pragma once

#include <Python.h>

#if PY_VERSION_HEX < 0x030A0000

inline PyObject* Py_NewRef(PyObject* object) {
  Py_INCREF(object);
  return object;
}

inline PyObject* Py_XNewRef(PyObject* object) {
  Py_XINCREF(object);
  return object;
}

// Unlike PyModule_AddObject, leaves the caller its reference.
inline int PyModule_AddObjectRef(PyObject* module, const char* name,
                                 PyObject* value) {
  Py_INCREF(value);
  if (PyModule_AddObject(module, name, value) == 0) return 0;
  Py_DECREF(value);
  return -1;
}

#endif

// Whether no Python code can run any more.
inline bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}
