// limitree.Level: what one limit said, as decision.hpp has it for the request.

#ifndef LIMITREE_PYTHON_LEVEL_HPP
#define LIMITREE_PYTHON_LEVEL_HPP

#include <Python.h>

#include "limitree.h"

namespace limitree::python {

// Makes the type and adds it to `module`.  False: a Python error is set.
bool add_level_type(PyObject* module);

// Returns a new tuple of `count` Level, which outlives the limiter; null: a
// Python error is set.
PyObject* new_levels(const limitree_level* levels, Py_ssize_t count);

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_LEVEL_HPP
