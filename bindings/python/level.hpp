// limitree.Level: the verdict of one limit, in the same form as the Decision of
// decision.hpp.

#ifndef LIMITREE_PYTHON_LEVEL_HPP
#define LIMITREE_PYTHON_LEVEL_HPP

#include <Python.h>

#include "limitree.h"

namespace limitree::python {

struct LevelObject {
  PyObject_HEAD limitree_level value;  // without its policy, which may not
                                       // exist any more
  PyObject* part;                      // its policy
};

// Makes the type and adds it to `module`.  False: a Python error is set.
bool add_level_type(PyObject* module);

// How many levels a decision keeps.
inline constexpr Py_ssize_t kMaxLevels = 64;

// Returns a new tuple of the first `count` levels, at most kMaxLevels.  They
// may outlive the limiter.  Null: a Python error is set.
PyObject* new_levels(const limitree_level* levels, Py_ssize_t count);

// Whether `object` is a result of new_levels(); if not, a Python error is set.
bool are_levels(PyObject* object);

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_LEVEL_HPP
