// The headers of the IETF draft, which name every limit of a decision.
//
// A web server sends them with each response.  Written in Python they took
// several times as long as the decision. limitree/headers.py has the other
// styles, and explains the words.

#ifndef LIMITREE_PYTHON_IETF_HPP
#define LIMITREE_PYTHON_IETF_HPP

#include <Python.h>

namespace limitree::python {

// Returns a list of pairs (name, value) for `levels`, a tuple of Level.  The
// list is empty if no level counts.  Null: a Python error is set.
PyObject* ietf_headers(PyObject* levels);

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_IETF_HPP
