#include "parse.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "arguments.hpp"
#include "errors.hpp"
#include "limitree.h"

namespace py = pybind11;

namespace limitree::python {

namespace {

limitree_str read_text(const py::object& text) {
  limitree_str read;
  if (read_segment(text.ptr(), "text", -1, &read)) return read;
  throw py::error_already_set();
}

std::int64_t duration_of(const py::object& text) {
  const limitree_str given = read_text(text);
  std::int64_t duration_ns = 0;
  check([&](limitree_error** error) {
    return limitree_parse_duration(given, &duration_ns, error);
  });
  return duration_ns;
}

// Tuples (count, seconds, burst, name).
py::list rates_of(const py::object& text) {
  const limitree_str given = read_text(text);
  std::vector<limitree_rate> rates;
  std::size_t count = 1;  // most texts have one
  do {
    rates.resize(count);
    check([&](limitree_error** error) {
      return limitree_parse_rates(given, rates.data(), rates.size(), &count,
                                  error);
    });
  } while (count > rates.size());
  py::list all;
  for (const limitree_rate& rate : rates) {
    all.append(py::make_tuple(rate.count,
                              static_cast<double>(rate.period_ns) / 1e9,
                              rate.burst, py::str(rate.name)));
  }
  return all;
}

}  // namespace

void bind_parsers(py::module_& module) {
  module.def("parse_duration", duration_of, py::arg("text"));
  module.def("parse_rates", rates_of, py::arg("text"));
}

}  // namespace limitree::python
