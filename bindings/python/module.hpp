// Functions that add the content of other files to the module.

#ifndef LIMITREE_PYTHON_MODULE_HPP
#define LIMITREE_PYTHON_MODULE_HPP

#include <Python.h>
#include <pybind11/pybind11.h>

namespace limitree::python {

// Adds the methods that are called for each request to `type`,
// limitree._native.Limiter: authorize, peek, spend, refund, authorize_all,
// authorize_action_for_user, reset ...  False: a Python error is set.
//
// They bypass pybind11, whose dispatcher takes longer than a decision in
// memory: each is a vectorcall function with its own method descriptor.
bool add_methods(PyTypeObject* type);

// Adds the readers of texts to `module`: parse_duration, parse_rates,
// canonical_ip and Proxies.  Throws error_already_set.
void bind_parsers(pybind11::module_& module);

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_MODULE_HPP
