// limitree.Decision and limitree.Level: small immutable Python types around
// limitree_decision and limitree_level, whose fields become Python objects when
// they are read.
//
// Making five Python numbers takes longer than deciding, and most callers read
// one of them.  So an object is a header and the struct, and freed objects wait
// in a list for reuse.

#pragma once

#include <Python.h>

#include "arguments.hpp"
#include "limitree.h"

namespace limitree::python {

// These make the types and add them to `module`.  False: a Python error is set.
bool add_level_type(PyObject* module);
bool add_decision_type(PyObject* module);

struct LevelObject {
  PyObject_HEAD limitree_level value;  // without its policy and its unit,
                                       // which may not exist any more
  PyObject* part;  // its policy; a tuple (policy, unit) unless the unit is
                   // "request"
};

// Its policy as a str, borrowed.
inline PyObject* policy_of(const LevelObject& level) {
  return PyTuple_Check(level.part) ? PyTuple_GET_ITEM(level.part, 0)
                                   : level.part;
}

// How many levels a decision keeps.
inline constexpr Py_ssize_t kMaxLevels = 64;

// Returns a new tuple of the first `count` levels, at most kMaxLevels.  They
// may outlive the limiter.  Null: a Python error is set.
PyObject* new_levels(const limitree_level* levels, Py_ssize_t count);

// Whether `object` is a result of new_levels(); if not, a Python error is set.
bool are_levels(PyObject* object);

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

// Returns the headers of an HTTP response, a list of (name, value), for the
// arguments style="ietf" and reset="delta".  `levels` is a tuple of Level, or
// null if the decision does not have them.  Null: a Python error is set.
PyObject* http_headers(const limitree_decision& decision, PyObject* levels,
                       const Arguments& arguments);

// Returns the body of a 429 as bytes; the rest as above.
PyObject* http_problem(const limitree_decision& decision, PyObject* levels);

}  // namespace limitree::python
