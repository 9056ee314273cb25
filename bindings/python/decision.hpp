// limitree.Decision: a small immutable Python type over limitree_decision,
// whose fields become Python objects when they are read.
//
// To make five Python numbers takes longer than to decide, and most callers
// read one of them.  So an object is the struct behind a header, and a freed
// one waits in a list for the next.

#ifndef LIMITREE_PYTHON_DECISION_HPP
#define LIMITREE_PYTHON_DECISION_HPP

#include <Python.h>

#include "limitree.h"

namespace limitree::python {

// Makes the type and adds it to `module`.  False: a Python error is set.
bool add_decision_type(PyObject* module);

// What `if decision:` means.
enum class Truth {
  kNone,    // nothing: TypeError
  kDenial,  // true; of what is None otherwise, authorize_action_for_user
};

// Returns a new Decision.  `levels` is a tuple of Level whose reference is
// taken over, or null if nobody asked for them.  Null: a Python error is set.
PyObject* new_decision(const limitree_decision& decision, PyObject* levels,
                       Truth truth = Truth::kNone);

// Returns what `decision`, a Decision, is made of; null: it is none, and a
// Python error is set.
const limitree_decision* decision_in(PyObject* decision);

// Returns `decision`, a Decision, with Truth::kDenial, or None if it is
// allowed; null: a Python error is set.
PyObject* denial_or_none(PyObject* decision);

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_DECISION_HPP
