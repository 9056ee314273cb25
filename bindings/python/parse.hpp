// Texts that mean numbers: limitree_parse_duration and limitree_parse_rates.

#ifndef LIMITREE_PYTHON_PARSE_HPP
#define LIMITREE_PYTHON_PARSE_HPP

#include <pybind11/pybind11.h>

namespace limitree::python {

// Adds parse_duration and parse_rates to `module`.  Throws error_already_set.
void bind_parsers(pybind11::module_& module);

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_PARSE_HPP
