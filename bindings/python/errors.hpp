// What the C interface reports, as Python exceptions of limitree.errors.

#ifndef LIMITREE_PYTHON_ERRORS_HPP
#define LIMITREE_PYTHON_ERRORS_HPP

#include <Python.h>

#include "limitree.h"

namespace limitree::python {

// Sets the Python error that `status` and `error` stand for, and frees `error`,
// which may be null.  Returns null, for callers that return an object.
PyObject* raise(limitree_status status, limitree_error* error);

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_ERRORS_HPP
