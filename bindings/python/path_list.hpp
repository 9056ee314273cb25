// The paths of authorize_all and similar methods.

#pragma once

#include <Python.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "arguments.hpp"
#include "limitree.h"

namespace limitree::python {

// Reads the costs of `paths`: an int for all, a list or tuple with one for
// each, or a mapping of units, whose "request" may be any of those.  Without it
// the paths keep their costs; other units go to *units.  False: a Python error
// is set.
bool read_costs(PyObject* costs, std::span<limitree_path> paths,
                UnitCosts* units);

// Several paths, each with a cost.  Keeps their segments alive, because another
// thread may change a list while the store answers.
class PathList {
 public:
  // Reads an iterable of iterables of str or bytes; their costs, as above, or
  // null for 1; and their parts: a str for all, a list or tuple with one for
  // each, or null or None for "charge".  False: a Python error is set.  It is a
  // TypeError if a path is a str, which would be one segment per letter.
  bool read(PyObject* paths, PyObject* costs, PyObject* parts);

  // The same for one path.
  bool read_one(PyObject* path, PyObject* cost);

  const limitree_path* data() const { return paths_.data(); }
  std::size_t size() const { return paths_.size(); }
  // The costs in other units than "request".
  std::span<const limitree_cost> units() const { return units_.others(); }

 private:
  bool append(PyObject* path, const char* name, std::int64_t cost);

  std::vector<pybind11::object> owners_;
  std::deque<Path> segments_;  // which must not move
  std::vector<limitree_path> paths_;
  UnitCosts units_;
};

}  // namespace limitree::python
