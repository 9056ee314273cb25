#include "errors.hpp"

#include "limitree.hpp"

namespace py = pybind11;

namespace limitree::python {

namespace {

py::list messages_of(limitree_status status, const limitree_error* error) {
  py::list messages;
  const std::size_t count = error == nullptr ? 0 : limitree_error_count(error);
  for (std::size_t i = 0; i < count; ++i) {
    messages.append(python_text(to_str(limitree_error_message_at(error, i))));
  }
  if (messages.empty()) messages.append(limitree_status_name(status));
  return messages;
}

}  // namespace

py::object exception_of(limitree_status status, const limitree_error* error) {
  return py::module_::import("limitree.errors")
      .attr("error_of")(limitree_status_name(status),
                        messages_of(status, error),
                        error == nullptr ? "" : limitree_error_reason(error));
}

PyObject* raise(limitree_status status, limitree_error* error) {
  const ErrorHandle owner(error);
  if (status == LIMITREE_OUT_OF_MEMORY) return PyErr_NoMemory();
  try {
    const py::object exception = exception_of(status, error);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())),
                    exception.ptr());
  } catch (py::error_already_set& failure) {
    failure.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  return nullptr;
}

}  // namespace limitree::python
