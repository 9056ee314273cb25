// Calls of greenlets under gevent's monkey patching.  Waiting in the library
// would stop all of them, so limitree.greenlets waits in gevent's way.

#ifndef LIMITREE_PYTHON_GREENLETS_HPP
#define LIMITREE_PYTHON_GREENLETS_HPP

#include <Python.h>

#include <cstdint>
#include <span>

#include "native.hpp"

namespace limitree::python {

// The arguments of a method of Limiter.
struct Question {
  std::int32_t operation;  // LIMITREE_AUTHORIZE ...
  PyObject* paths;         // one path, or several if `several`
  bool several;
  PyObject* cost;  // like `paths`; null: 1
  bool levels;
  PyObject* part = nullptr;  // likewise; null: none
};

// Whether gevent has been imported and `native` may have to wait.  If so, calls
// go to ask_greenlets() first.
bool may_be_greenlets(const Native& native);

// Returns the Decision, or None if the calling thread may wait in the library.
// Null: a Python error is set.
PyObject* ask_greenlets(PyObject* self, const Question& question);

// The same for one path with the segments `path`.
PyObject* ask_greenlets(PyObject* self, std::int32_t operation,
                        std::span<PyObject* const> path, std::int64_t cost,
                        bool levels);

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_GREENLETS_HPP
