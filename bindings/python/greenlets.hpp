// Calls of greenlets, under gevent's monkey patching: waiting in the library
// would stop all of them, so limitree.greenlets waits by gevent's own means.

#ifndef LIMITREE_PYTHON_GREENLETS_HPP
#define LIMITREE_PYTHON_GREENLETS_HPP

#include <Python.h>

#include <cstdint>
#include <span>

#include "native.hpp"

namespace limitree::python {

// What a method of Limiter was asked for.
struct Question {
  std::int32_t operation;  // LIMITREE_AUTHORIZE ...
  PyObject* paths;         // one path, or several if `several`
  bool several;
  PyObject* cost;  // as `paths`; null: 1
  bool levels;
  PyObject* part = nullptr;  // likewise; null: none is given
};

// Whether gevent has been imported and `native` may have to wait: then a call
// is given to ask_greenlets() first.
bool may_be_greenlets(const Native& native);

// Returns the Decision; None if the calling thread may wait in the library;
// null: a Python error is set.
PyObject* ask_greenlets(PyObject* self, const Question& question);

// The same for one path, whose segments are `path`.
PyObject* ask_greenlets(PyObject* self, std::int32_t operation,
                        std::span<PyObject* const> path, std::int64_t cost,
                        bool levels);

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_GREENLETS_HPP
