#include "errors.hpp"

#include <exception>
#include <string>

namespace py = pybind11;

namespace limitree::python {

namespace {

// Sets the Python error for `error`.
void set_error(const Error& error) {
  const py::object exception = exception_of(error);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())),
                  exception.ptr());
}

}  // namespace

py::object exception_of(const Error& error) {
  py::list messages;
  for (const std::string& message : error.messages()) {
    messages.append(python_text(to_str(message)));
  }
  return py::module_::import("limitree.errors")
      .attr("error_of")(limitree_status_name(error.status()), messages,
                        error.reason());
}

PyObject* raise(limitree_status status, limitree_error* error) {
  const ErrorHandle owner(error);
  if (status == LIMITREE_OUT_OF_MEMORY) return PyErr_NoMemory();
  return guarded([&]() -> PyObject* {
    set_error(Error::from(status, error));
    return nullptr;
  });
}

void translate_errors() {
  // NOLINTNEXTLINE(performance-unnecessary-value-param): pybind11's type.
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      set_error(error);
    }
  });
}

}  // namespace limitree::python
