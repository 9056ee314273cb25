#include "hold.hpp"

#include <cstddef>

#include "errors.hpp"

namespace py = pybind11;

namespace limitree::python {

Hold::Hold(const py::object& paths, bool several, const py::object& cost,
           const py::object& part) {
  require(several ? list_.read(paths.ptr(), cost.ptr(), part.ptr())
                  : list_.read_one(paths.ptr(), cost.ptr()));
  paths_ = {list_.data(), list_.size()};
}

Hold::Hold(const py::object& receipt) {
  limitree_str text;
  require(read_segment(receipt.ptr(), "receipt", -1, &text));
  limitree_receipt* read = nullptr;
  check(limitree_receipt_new, text, &read);
  receipt_.reset(read);
  std::size_t count = 0;
  const limitree_path* const paths = limitree_receipt_paths(read, &count);
  paths_ = {paths, count};
  id_ = *limitree_receipt_hold(read);
}

py::str Hold::receipt() const {
  const Text text =
      make_text(limitree_receipt_text, &id_, paths_.data(), paths_.size());
  return {text.view().data(), text.view().size()};
}

Usage Hold::usage(const py::object& cost) const {
  Usage usage{{paths_.begin(), paths_.end()}, {}};
  for (limitree_path& path : usage.paths) path.cost = LIMITREE_AS_HELD;
  if (cost.is_none()) return usage;
  require(read_costs(cost.ptr(), usage.paths, &usage.units));
  // A mapping need not have requests.
  if (usage.units.requests() == nullptr && UnitCosts::are(cost.ptr())) {
    return usage;
  }
  for (const limitree_path& path : usage.paths) {
    // LIMITREE_AS_HELD is negative, so the library would take it.
    if (path.cost >= 0) continue;
    PyErr_Format(PyExc_ValueError, "cost must not be negative, is %lld",
                 static_cast<long long>(path.cost));
    throw py::error_already_set();
  }
  return usage;
}

}  // namespace limitree::python
