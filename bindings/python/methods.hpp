// The methods that are called for each request.
//
// They bypass pybind11, whose dispatcher takes longer than a decision in
// memory: each is a vectorcall function with its own method descriptor.

#ifndef LIMITREE_PYTHON_METHODS_HPP
#define LIMITREE_PYTHON_METHODS_HPP

#include <Python.h>

namespace limitree::python {

// Adds authorize, peek, spend, refund, authorize_all,
// authorize_action_for_user and reset to `type`, limitree._native.Limiter.
// False: a Python error is set.
bool add_methods(PyTypeObject* type);

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_METHODS_HPP
