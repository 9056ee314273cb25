#include "address.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "errors.hpp"
#include "limitree.h"

namespace py = pybind11;

namespace limitree::python {

namespace {

PyObject* text_of(const limitree_ip& ip) {
  return PyUnicode_DecodeASCII(ip.text, ip.size, nullptr);
}

// Reads `value`, one line of a header or a sequence of them; None is no line.
// False: a Python error is set.  `owner` keeps a sequence alive.
bool read_lines(PyObject* value, Path* lines, py::object* owner) {
  if (value == nullptr || value == Py_None) return lines->read({}, 0, "lines");
  if (PyUnicode_Check(value) || PyBytes_Check(value)) {
    return lines->read(&value, 1, "lines");
  }
  *owner = py::reinterpret_steal<py::object>(PySequence_Tuple(value));
  if (!*owner) return false;
  const Py_ssize_t count = PyTuple_GET_SIZE(owner->ptr());
  std::vector<PyObject*> items(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    items[static_cast<std::size_t>(i)] = PyTuple_GET_ITEM(owner->ptr(), i);
  }
  return lines->read(items.data(), count, "lines");
}

class Proxies {
 public:
  Proxies(bool forwarded, std::int32_t hops, const py::list& trusted,
          std::int32_t ipv6_prefix) {
    std::vector<limitree_str> networks;
    networks.resize(trusted.size());
    for (std::size_t i = 0; i < networks.size(); ++i) {
      PyObject* const one =
          PyList_GET_ITEM(trusted.ptr(), static_cast<Py_ssize_t>(i));
      if (!read_segment(one, "trusted_proxies", static_cast<Py_ssize_t>(i),
                        &networks[i])) {
        throw py::error_already_set();
      }
    }
    limitree_error* error = nullptr;
    const limitree_status status = limitree_proxies_new(
        forwarded ? LIMITREE_FORWARDED : LIMITREE_X_FORWARDED_FOR, hops,
        networks.data(), networks.size(), ipv6_prefix, &proxies_, &error);
    if (status >= 0) return;
    raise(status, error);
    throw py::error_already_set();
  }
  ~Proxies() { limitree_proxies_free(proxies_); }
  Proxies(const Proxies&) = delete;
  Proxies& operator=(const Proxies&) = delete;

  py::object client(const py::object& peer, const py::object& lines) const {
    limitree_str from = {"", 0};
    Path values;
    py::object owner;
    if ((!peer.is_none() && !read_segment(peer.ptr(), "peer", -1, &from)) ||
        !read_lines(lines.ptr(), &values, &owner)) {
      throw py::error_already_set();
    }
    limitree_ip ip;
    limitree_error* error = nullptr;
    const limitree_status status = limitree_client_ip(
        proxies_, from, values.data(), values.size(), &ip, &error);
    if (status < 0) {
      raise(status, error);
      throw py::error_already_set();
    }
    return py::reinterpret_steal<py::object>(text_of(ip));
  }

 private:
  limitree_proxies* proxies_ = nullptr;
};

py::object canonical_ip(const py::object& address, std::int32_t ipv6_prefix) {
  limitree_str text;
  if (!read_segment(address.ptr(), "address", -1, &text)) {
    throw py::error_already_set();
  }
  limitree_ip ip;
  limitree_error* error = nullptr;
  const limitree_status status =
      limitree_canonical_ip(text, ipv6_prefix, &ip, &error);
  if (status < 0) {
    raise(status, error);
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(text_of(ip));
}

}  // namespace

void bind_addresses(py::module_& module) {
  py::class_<Proxies>(module, "Proxies", py::module_local())
      .def(py::init<bool, std::int32_t, const py::list&, std::int32_t>(),
           py::arg("forwarded"), py::arg("hops"), py::arg("trusted"),
           py::arg("ipv6_prefix"))
      .def("client", &Proxies::client, py::arg("peer"), py::arg("lines"));
  module.def("canonical_ip", canonical_ip, py::arg("address"),
             py::arg("ipv6_prefix") = 128,
             "Return an IP address in its one canonical form, RFC 5952.\n\n"
             "Understands a port, brackets, a zone and IPv4 written as IPv6.  "
             "Of an IPv6\naddress the first `ipv6_prefix` bits are kept.  "
             "Raises ValueError for anything\nelse, TypeError for what is "
             "neither str nor bytes.");
}

}  // namespace limitree::python
