// Requests that wait for a store without blocking, for an event loop.
//
// The library completes them in batches, from within limitree_loop_run; a batch
// is handed to limitree.delivery at once.  The interpreter's lock is held all
// the while: nothing here waits.

#ifndef LIMITREE_PYTHON_PENDING_HPP
#define LIMITREE_PYTHON_PENDING_HPP

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>

#include "limitree.h"
#include "native.hpp"

namespace limitree::python {

// What AsyncLimiter asks for.
struct Request {
  std::int32_t operation;  // LIMITREE_AUTHORIZE ...
  pybind11::object paths;  // one path, or a sequence of them if `several`
  bool several;
  pybind11::object cost;    // int, or several as PathList::read takes them
  pybind11::object part;    // None, or likewise
  pybind11::object levels;  // bool or None, as the methods of Limiter take it
};

// Returns a Decision, or what `make_future()` returned if the answer is to
// come.  Throws error_already_set.
pybind11::object start(Native& native, const Request& request,
                       const pybind11::object& make_future);

// The limitree_completion_fn of every limiter.
void complete(const limitree_completion* completions, std::size_t count,
              void* user_data) noexcept;

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_PENDING_HPP
