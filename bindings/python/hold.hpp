// Reservations: what is needed to settle, cancel and extend them.

#pragma once

#include <Python.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <span>
#include <vector>

#include "arguments.hpp"
#include "limitree.hpp"
#include "path_list.hpp"

namespace limitree::python {

// What was used of a reservation.
struct Usage {
  std::vector<limitree_path> paths;  // borrowed from the Hold
  UnitCosts units;
};

// The paths of a reservation, and the id of what it holds.  limitree._native
// has it as Hold.  Its functions throw error_already_set.
class Hold {
 public:
  // Of a request that has not been sent; `paths` is one path, or several, and
  // `cost` and `part` are as for PathList::read.
  Hold(const pybind11::object& paths, bool several,
       const pybind11::object& cost, const pybind11::object& part);
  // Of a receipt, a str or bytes.
  explicit Hold(const pybind11::object& receipt);

  pybind11::str receipt() const;

  std::span<const limitree_path> paths() const { return paths_; }
  // The costs in other units than "request".
  std::span<const limitree_cost> units() const { return list_.units(); }
  limitree_hold* id() { return &id_; }

  // `cost` is None, "as held", or as for read_costs(): what it does not name
  // was used as it was held.
  Usage usage(const pybind11::object& cost) const;

 private:
  PathList list_;
  std::unique_ptr<limitree_receipt, Release<limitree_receipt_free>> receipt_;
  std::span<const limitree_path> paths_;  // of the list, or of the receipt
  limitree_hold id_{};
};

}  // namespace limitree::python
