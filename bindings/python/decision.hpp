// limitree.Decision: a small immutable Python type around limitree_decision,
// whose fields become Python objects when they are read.
//
// Making five Python numbers takes longer than deciding, and most callers read
// one of them.  So an object is a header and the struct, and freed objects wait
// in a list for reuse.

#ifndef LIMITREE_PYTHON_DECISION_HPP
#define LIMITREE_PYTHON_DECISION_HPP

#include <Python.h>

#include "limitree.h"

namespace limitree::python {

// Makes the type and adds it to `module`.  False: a Python error is set.
bool add_decision_type(PyObject* module);

// The meaning of `if decision:`.
enum class Truth {
  kNone,    // nothing: TypeError
  kDenial,  // true; for authorize_action_for_user, which returns None otherwise
};

// Returns a new Decision.  `levels` is a tuple of Level, whose reference is
// stolen, or null if levels were not wanted.  Null: a Python error is set.
PyObject* new_decision(const limitree_decision& decision, PyObject* levels,
                       Truth truth = Truth::kNone);

// Returns the data of `decision`.  Null: it is not a Decision, and a Python
// error is set.
const limitree_decision* decision_in(PyObject* decision);

// Returns `decision`, a Decision, with Truth::kDenial, or None if it is
// allowed.  Null: a Python error is set.
PyObject* denial_or_none(PyObject* decision);

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_DECISION_HPP
