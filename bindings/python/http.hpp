// What an HTTP response says about a decision, as the core writes it.

#ifndef LIMITREE_PYTHON_HTTP_HPP
#define LIMITREE_PYTHON_HTTP_HPP

#include <Python.h>
#include <pybind11/pybind11.h>

#include "arguments.hpp"
#include "limitree.h"

namespace limitree::python {

// `levels` is a tuple of Level, or null if the decision does not have them.
// Null is returned if a Python error is set.

// Returns a list of (name, value), for the arguments style="ietf" and
// reset="delta".
PyObject* http_headers(const limitree_decision& decision, PyObject* levels,
                       const Arguments& arguments);

// Returns the body of a 429 as bytes.
PyObject* http_problem(const limitree_decision& decision, PyObject* levels);

// Adds check_style() to `module`.  Throws error_already_set.
void bind_http(pybind11::module_& module);

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_HTTP_HPP
