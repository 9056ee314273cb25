// Texts that the core reads: durations, rates, and the addresses of clients.

#include <cstddef>
#include <cstdint>

#include "arguments.hpp"
#include "errors.hpp"
#include "limitree.hpp"
#include "module.hpp"

namespace py = pybind11;

namespace limitree::python {

namespace {

limitree_str read_text(const py::object& text, const char* name) {
  limitree_str read;
  require(read_segment(text.ptr(), name, -1, &read));
  return read;
}

std::int64_t duration_of(const py::object& text) {
  return parse_duration(to_view(read_text(text, "text")));
}

// Tuples (count, seconds, burst, name, whether the text names an algorithm).
py::list rates_of(const py::object& text) {
  py::list all;
  for (const limitree_rate& rate :
       parse_rates(to_view(read_text(text, "text")))) {
    all.append(
        py::make_tuple(rate.count, static_cast<double>(rate.period_ns) / 1e9,
                       rate.burst, py::str(rate.name), rate.algorithm != 0));
  }
  return all;
}

// Returns the address that `call(&ip, &error)` finds.
template <typename Call>
py::str address_of(Call&& call) {
  limitree_ip ip;
  check(call, &ip);
  return {ip.text, static_cast<std::size_t>(ip.size)};
}

// Reads `value`, one line of a header or a sequence of them; None stands for no
// lines.  False: a Python error is set.  `owner` keeps a sequence alive.
bool read_lines(PyObject* value, Path* lines, py::object* owner) {
  if (value == nullptr || value == Py_None) return lines->read({}, 0, "lines");
  if (PyUnicode_Check(value) || PyBytes_Check(value)) {
    return lines->read(&value, 1, "lines");
  }
  *owner = py::reinterpret_steal<py::object>(PySequence_Tuple(value));
  return *owner && lines->read(PySequence_Fast_ITEMS(owner->ptr()),
                               PyTuple_GET_SIZE(owner->ptr()), "lines");
}

class Proxies {
 public:
  Proxies(bool forwarded, std::int32_t hops, const py::list& trusted,
          std::int32_t ipv6_prefix) {
    Path networks;
    require(networks.read(PySequence_Fast_ITEMS(trusted.ptr()),
                          PyList_GET_SIZE(trusted.ptr()), "trusted_proxies"));
    check(limitree_proxies_new,
          forwarded ? LIMITREE_FORWARDED : LIMITREE_X_FORWARDED_FOR, hops,
          networks.data(), networks.size(), ipv6_prefix, &proxies_);
  }
  ~Proxies() { limitree_proxies_free(proxies_); }
  Proxies(const Proxies&) = delete;
  Proxies& operator=(const Proxies&) = delete;

  py::str client(const py::object& peer, const py::object& lines) const {
    limitree_str from = {"", 0};
    if (!peer.is_none()) from = read_text(peer, "peer");
    Path values;
    py::object owner;
    require(read_lines(lines.ptr(), &values, &owner));
    return address_of([&](limitree_ip* ip, limitree_error** error) {
      return limitree_client_ip(proxies_, from, values.data(), values.size(),
                                ip, error);
    });
  }

 private:
  limitree_proxies* proxies_ = nullptr;
};

py::str canonical_ip(const py::object& address, std::int32_t ipv6_prefix) {
  const limitree_str text = read_text(address, "address");
  return address_of([&](limitree_ip* ip, limitree_error** error) {
    return limitree_canonical_ip(text, ipv6_prefix, ip, error);
  });
}

}  // namespace

void bind_parsers(py::module_& module) {
  module.def("parse_duration", duration_of, py::arg("text"));
  module.def("parse_rates", rates_of, py::arg("text"));
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
