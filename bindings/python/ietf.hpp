// The headers of the IETF draft, which name every limit of a decision.
//
// They go with each response of a web server, and written in Python they took
// several times what the decision takes.  limitree/headers.py has the other
// styles, and says what the words mean.

#ifndef LIMITREE_PYTHON_IETF_HPP
#define LIMITREE_PYTHON_IETF_HPP

#include <Python.h>

namespace limitree::python {

// Returns a list of pairs (name, value) for `levels`, a tuple of Level: empty
// if none of them counts.  Null: a Python error is set.
PyObject* ietf_headers(PyObject* levels);

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_IETF_HPP
