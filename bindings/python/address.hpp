// Addresses of clients: limitree_canonical_ip and limitree_proxies.

#ifndef LIMITREE_PYTHON_ADDRESS_HPP
#define LIMITREE_PYTHON_ADDRESS_HPP

#include <pybind11/pybind11.h>

namespace limitree::python {

// Adds canonical_ip and Proxies to `module`.  Throws error_already_set.
void bind_addresses(pybind11::module_& module);

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_ADDRESS_HPP
