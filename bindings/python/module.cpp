// limitree._native: limitree.h for Python.  The public names are in the package
// limitree.

#include "module.hpp"

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "decision.hpp"
#include "envoy.hpp"
#include "errors.hpp"
#include "hold.hpp"
#include "limitree.hpp"
#include "native.hpp"

namespace py = pybind11;

namespace limitree::python {

namespace {

// A list of pairs: a label, and a dict of the values that have it.  Scopes
// without labels have one pair.
template <std::uint32_t kScopes>
py::list counters(Native& native) {
  std::vector<Counters> all;
  native.run(read_counters, kScopes, &all);
  py::list list;
  for (const Counters& one : all) {
    py::dict values;
    for (const auto& [counter, value] : one.values) {
      values[counter->name] = value;
    }
    list.append(py::make_tuple(python_text(to_str(one.label)), values));
  }
  return list;
}

double ping(Native& native) {
  std::int64_t round_trip_ns = 0;
  native.run(limitree_ping, &round_trip_ns);
  return static_cast<double>(round_trip_ns) / 1e9;
}

void set_pressure(Native& native, double pressure) {
  native.run(limitree_set_pressure, pressure);
}

// The text that `function` of limitree.h writes.
template <typename Function, typename... Arguments>
py::str text_of(Native& native, Function function, Arguments... arguments) {
  limitree_text* text = nullptr;
  native.run(function, arguments..., &text);
  return python_text(to_str(Text(text).view()));
}

py::str prometheus(Native& native) {
  return text_of(native, limitree_limiter_prometheus);
}

py::str explain(Native& native, const py::args& segments) {
  Path path;
  require(path.read(PySequence_Fast_ITEMS(segments.ptr()),
                    PyTuple_GET_SIZE(segments.ptr()), "path"));
  return text_of(native, limitree_limiter_explain, path.data(), path.size());
}

py::tuple should_rate_limit(Native& native, const py::object& domain,
                            const py::list& descriptors,
                            std::uint32_t hits_addend, std::uint32_t flags) {
  EnvoyCall call(domain, descriptors, hits_addend, flags);
  native.run(limitree_should_rate_limit, call.request(), call.statuses(),
             call.count(), call.response());
  py::tuple answer = call.answer();
  native.noted(call.response()->flags);
  return answer;
}

void reset_descriptors(Native& native, const py::object& domain,
                       const py::list& descriptors) {
  const EnvoyCall call(domain, descriptors, 0, 0);
  native.run(limitree_reset_descriptors, call.request());
}

// A property.  Not bound as a method of Native: for a limiter that was not
// initialized, pybind11 would read memory that was never set.
template <bool (Native::*kGet)() const>
bool read(const py::object& self) {
  const Native* const native = native_of(self.ptr());
  if (native == nullptr) throw py::error_already_set();
  return (native->*kGet)();
}

void bind_hold(py::module_& module) {
  py::class_<Hold>(module, "Hold", py::module_local())
      .def(py::init<const py::object&, bool, const py::object&,
                    const py::object&>(),
           py::arg("paths"), py::arg("several"), py::arg("cost"),
           py::arg("part") = py::none())
      .def_static(
          "of_receipt",
          [](const py::object& receipt) {
            return std::make_unique<Hold>(receipt);
          },
          py::arg("receipt"))
      .def("receipt", &Hold::receipt);
}

void bind_limiter(py::module_& module) {
  py::class_<Native> limiter(module, "Limiter", py::module_local());
  limiter
      .def(py::init<const py::list&, const py::dict&, py::object, bool,
                    const std::pair<py::list, bool>&,
                    const std::pair<py::object, bool>&>(),
           py::arg("texts"), py::arg("options"), py::arg("clock"),
           py::arg("levels"), py::arg("descriptors"), py::arg("client"))
      .def("close", &Native::close)
      .def_property_readonly("closed", read<&Native::closed>)
      .def_property_readonly("is_remote", read<&Native::is_remote>)
      .def_property_readonly("is_shared", read<&Native::is_shared>)
      .def("ping", ping)
      .def("set_pressure", set_pressure, py::arg("pressure"),
           "Tell how busy this process is, from 0.0 (idle) to 1.0, which it is "
           "at first.\n\nA limit with `overrun: {percent: N, when: idle}` "
           "admits N % * (1 - pressure) above\nits capacity.  Raises "
           "ValueError unless it is a number from 0 to 1.")
      .def("prometheus", prometheus,
           "Return all counters in the text format of Prometheus.")
      .def("explain", explain,
           "Return how `path` goes down the tree, as text for people: the "
           "limits it meets, and,\nwith `memory://` and `shm://`, what is held "
           "there.\n\nCharges nothing, and does not ask another machine.  "
           "Raises ValueError if a path cannot\nend there, UnknownRoot if "
           "no path begins so.")
      .def("_start", start, py::arg("operation"), py::arg("paths"),
           py::arg("several"), py::arg("cost"), py::arg("levels"),
           py::arg("make_future"), py::arg("part") = py::none())
      .def("_reserve", reserve, py::arg("hold"), py::arg("hold_ns"),
           py::arg("levels"), py::arg("make_future"))
      .def("_settle", settle, py::arg("hold"), py::arg("cost"),
           py::arg("make_future"))
      .def("_cancel", cancel, py::arg("hold"), py::arg("make_future"))
      .def("_extend", extend, py::arg("hold"), py::arg("hold_ns"),
           py::arg("make_future"))
      .def("_should_rate_limit", should_rate_limit, py::arg("domain"),
           py::arg("descriptors"), py::arg("hits_addend"), py::arg("flags"))
      .def("_start_envoy", start_envoy, py::arg("domain"),
           py::arg("descriptors"), py::arg("hits_addend"), py::arg("flags"),
           py::arg("make_future"))
      .def("_reset_descriptors", reset_descriptors, py::arg("domain"),
           py::arg("descriptors"))
      .def("_reload_descriptors", &Native::reload_descriptors, py::arg("files"))
      .def("_loop_fd", &Native::loop_fd)
      .def("_set_loop_wakeups", &Native::set_loop_wakeups)
      .def("_run_loop", &Native::run_loop)
      .def("_reply", &Native::reply, py::arg("token"), py::arg("reply"),
           py::arg("text"))
      .def("_reload", &Native::reload, py::arg("texts"))
      .def("_put", &Native::put, py::arg("name"), py::arg("yaml"),
           py::arg("replace"))
      .def("_refuse", &Native::refuse)
      .def("_renew", &Native::renew, py::arg("texts"), py::arg("options"),
           py::arg("clock"))
      .def_property_readonly("_busy", &Native::busy)
      .def_property_readonly("_pending", &Native::pending)
      .def("_write_log", &Native::write_log)
      .def("_stats", counters<LIMITREE_SCOPE_REQUESTS | LIMITREE_SCOPE_STORE>)
      .def("_limit_stats", counters<LIMITREE_SCOPE_LIMITS>)
      .def("_envoy_stats", counters<LIMITREE_SCOPE_ENVOY>)
      .def("_descriptor_stats", counters<LIMITREE_SCOPE_RULES>);
  require(add_methods(reinterpret_cast<PyTypeObject*>(limiter.ptr())));
}

// The names that `at` has for 0, 1, ... until it has none.
py::tuple names_of(const char* (*at)(std::size_t)) {
  py::list names;
  for (std::size_t i = 0; at(i) != nullptr; ++i) names.append(at(i));
  return names;
}

// Types and decisions kept for reuse belong to the first interpreter of the
// process.
bool is_first_interpreter() {
  return PyInterpreterState_Get() == PyInterpreterState_Main();
}

constexpr const char* kWrongInterpreter =
    "limitree does not run in a subinterpreter: under mod_wsgi, set "
    "WSGIApplicationGroup %{GLOBAL}; elsewhere, import it in the main "
    "interpreter";

}  // namespace

}  // namespace limitree::python

// The module that pybind11 makes.  In a subinterpreter of CPython 3.11 and
// older it would wait forever, so PyInit__native() checks the interpreter
// first.  From 3.13 on, CPython calls PyInit__native() in the main interpreter
// even if a subinterpreter imports the module, so this checks again.  CPython
// gets here only for modules that declare that they can run in every
// interpreter.
PYBIND11_MODULE(_bound, module,
                pybind11::multiple_interpreters::per_interpreter_gil()) {
  using namespace limitree::python;
  if (!is_first_interpreter()) throw py::import_error(kWrongInterpreter);
  translate_errors();
  module.attr("__version__") = limitree_version();
  module.attr("openssl_version") = limitree_openssl_version();
  module.attr("ALGORITHMS") = names_of(limitree_algorithm_at);
  module.attr("STYLES") = names_of(limitree_http_style_at);
  bind_http(module);
  require(add_level_type(module.ptr()));
  require(add_decision_type(module.ptr()));
  bind_hold(module);
  bind_limiter(module);
  bind_parsers(module);
  module.def("check_options", check_options, py::arg("options"));
  module.def(
      "denial_or_none",
      [](const py::object& decision) {
        PyObject* const denial = denial_or_none(decision.ptr());
        require(denial != nullptr);
        return py::reinterpret_steal<py::object>(denial);
      },
      py::arg("decision"));
}

PYBIND11_PLUGIN_IMPL(_native) {
  using namespace limitree::python;
  if (is_first_interpreter()) return PyInit__bound();
  PyErr_SetString(PyExc_ImportError, kWrongInterpreter);
  return nullptr;
}
