// Texts of the C interface, and its errors as Python exceptions of
// limitree.errors.

#pragma once

#include <Python.h>
#include <pybind11/pybind11.h>

#include <new>

#include "limitree.hpp"

namespace limitree::python {

// A text of the library, whose bytes may come from a client.
inline pybind11::str python_text(limitree_str text) {
  return pybind11::bytes(text.data, text.size)
      .attr("decode")("utf-8", "backslashreplace");
}

// Returns the exception for `error`.  Throws error_already_set.
pybind11::object exception_of(const Error& error);

// Sets the Python error for `status` and `error`, and frees `error`, which may
// be null.  Returns null, for callers that return an object.
PyObject* raise(limitree_status status, limitree_error* error);

// Throws the Python error that is set, unless `done`.
inline void require(bool done) {
  if (!done) throw pybind11::error_already_set();
}

// Runs `call()`, which returns an object.  Errors become Python's.
template <typename Call>
PyObject* guarded(const Call& call) {
  try {
    return call();
  } catch (const Error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (pybind11::error_already_set& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  return nullptr;
}

// Lets functions that pybind11 binds throw Error.
void translate_errors();

}  // namespace limitree::python
