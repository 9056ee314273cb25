#include "greenlets.hpp"

#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace limitree::python {

bool may_be_greenlets(const Native& native) {
  if (!native.is_remote()) return false;
  static PyObject* const name = PyUnicode_InternFromString("gevent.monkey");
  PyObject* const module = name == nullptr ? nullptr : PyImport_GetModule(name);
  if (module == nullptr) {
    PyErr_Clear();
    return false;
  }
  Py_DECREF(module);
  return true;
}

PyObject* ask_greenlets(PyObject* self, const Question& question) {
  try {
    const py::object cost =
        question.cost == nullptr
            ? py::int_(1)
            : py::reinterpret_borrow<py::object>(question.cost);
    const py::object part =
        question.part == nullptr
            ? py::none()
            : py::reinterpret_borrow<py::object>(question.part);
    return py::module_::import("limitree.greenlets")
        .attr("ask")(py::handle(self), question.operation,
                     py::handle(question.paths), question.several, cost,
                     question.levels, part)
        .release()
        .ptr();
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  }
}

PyObject* ask_greenlets(PyObject* self, std::int32_t operation,
                        std::span<PyObject* const> path, std::int64_t cost,
                        bool levels) {
  try {
    py::tuple segments(path.size());
    for (std::size_t i = 0; i < path.size(); ++i) {
      segments[i] = py::handle(path[i]);
    }
    const py::int_ number(cost);
    return ask_greenlets(
        self, {operation, segments.ptr(), false, number.ptr(), levels});
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  }
}

}  // namespace limitree::python
