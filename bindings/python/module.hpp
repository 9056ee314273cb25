// The content of other files that the module binds.

#pragma once

#include <Python.h>
#include <pybind11/pybind11.h>

#include <cstdint>

#include "hold.hpp"
#include "native.hpp"

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

// Adds check_style() to `module`.  Throws error_already_set.
void bind_http(pybind11::module_& module);

// ---- Requests that wait for a store without blocking, for an event loop -----
//
// The library completes them in batches, from limitree_loop_run, and each batch
// goes to limitree.delivery at once.  The interpreter lock is held: nothing
// here waits, unless a comment says so.

// Starts an operation, LIMITREE_AUTHORIZE ...  `paths` is one path, or several;
// `cost` and `part` are as for PathList::read, and `levels` as in the methods
// of Limiter.  Returns a Decision, or the result of `make_future()` if the
// answer comes later.  Throws error_already_set.
pybind11::object start(Native& native, std::int32_t operation,
                       const pybind11::object& paths, bool several,
                       const pybind11::object& cost,
                       const pybind11::object& levels,
                       const pybind11::object& make_future,
                       const pybind11::object& part);

// The calls about reservations.  `make_future` is None if they may wait: then
// the interpreter lock is released while a store on another machine answers.
// Decision.held is the number of levels that hold, or did.
pybind11::object reserve(Native& native, Hold& hold, std::int64_t hold_ns,
                         const pybind11::object& levels,
                         const pybind11::object& make_future);
pybind11::object settle(Native& native, Hold& hold,
                        const pybind11::object& cost,
                        const pybind11::object& make_future);
pybind11::object cancel(Native& native, Hold& hold,
                        const pybind11::object& make_future);
pybind11::object extend(Native& native, Hold& hold, std::int64_t hold_ns,
                        const pybind11::object& make_future);

// The same as start() for a request of Envoy: returns EnvoyCall::answer(), or
// the result of `make_future()`.
pybind11::object start_envoy(Native& native, const pybind11::object& domain,
                             const pybind11::list& descriptors,
                             std::uint32_t hits_addend, std::uint32_t flags,
                             const pybind11::object& make_future);

}  // namespace limitree::python
