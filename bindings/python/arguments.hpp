// Arguments of the methods that are called for each request, read without
// copies: a segment is the bytes inside its str or bytes object.

#pragma once

#include <Python.h>
#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "limitree.h"

namespace limitree::python {

// The unit of a plain number.
inline constexpr const char* kRequestUnit = "request";

// The arguments of a METH_FASTCALL | METH_KEYWORDS function.
struct Arguments {
  PyObject* const* values;
  Py_ssize_t positional;
  PyObject* names;  // a tuple, or null: names of the last values
};

// Reads `value` into *segment.  Error messages call it by `name` and `index`,
// "path[1]"; an index of -1 means no brackets.  False: a TypeError, or a
// UnicodeEncodeError for text that is not valid in UTF-8, is set.
bool read_segment(PyObject* value, const char* name, Py_ssize_t index,
                  limitree_str* segment);

// Reads an int, which messages call "cost", or "cost in tokens" with a `unit`.
// False: TypeError, or OverflowError beyond 64 bits, is set.
bool read_number(PyObject* value, std::int64_t* cost,
                 const char* unit = nullptr);

// A cost in several units: a mapping such as {"request": 1, "tokens": 812}.
// Keeps what it has read.
class UnitCosts {
 public:
  // Whether `value`, which is not an int, is one.
  static bool are(PyObject* value);

  // False: a Python error is set.
  bool read(PyObject* mapping);
  // The same for an int, too.  Leaves *requests as it is if the mapping does
  // not have them.
  bool read_cost(PyObject* value, std::int64_t* requests);

  // The cost in "request", not read yet; null if the mapping does not have it.
  PyObject* requests() const { return requests_; }
  std::span<const limitree_cost> others() const { return others_; }

 private:
  bool read_one(PyObject* unit, PyObject* value);

  pybind11::object items_;
  PyObject* requests_ = nullptr;
  std::vector<limitree_cost> others_;
};

// What a request needs beside the plain form of its operation.
enum Needs : std::uint8_t { kNothing = 0, kLevels = 1, kUnits = 2 };

// The options of a request, with their defaults.
struct Options {
  explicit Options(bool levels) : needs(levels ? kLevels : kNothing) {}

  std::int64_t cost = 1;
  std::uint8_t needs;
  PyObject* units;  // the cost, if it is a mapping: only with kUnits
};

// These read the argument of that name.  A mapping is left for UnitCosts, so
// that an int costs nothing more.  False: a Python error is set.
bool read_cost(PyObject* value, Options* options);
bool read_levels(PyObject* value, Options* options);

// Reads a bool into *out; None leaves it unchanged.  False: TypeError is set.
bool read_switch(PyObject* value, const char* name, bool* out);

// The segments of one path.  Borrows from the objects it has read.
class Path {
 public:
  bool read(PyObject* const* values, Py_ssize_t count, const char* name);

  const limitree_str* data() const {
    return many_.empty() ? few_.data() : many_.data();
  }
  std::size_t size() const { return size_; }

 private:
  std::array<limitree_str, 8> few_;  // uninitialized until read
  std::vector<limitree_str> many_;
  std::size_t size_ = 0;
};

// The parameters of a method; for a method with *path, only the keyword-only
// ones.
struct Signature {
  const char* function;
  std::span<const char* const> names;
  std::size_t required;    // this many arguments must be given
  std::size_t positional;  // this many may be given without a name

  // Writes the argument for each name to values[0 ...], null if it is missing.
  // False: TypeError is set.
  bool place(const Arguments& arguments, PyObject** values) const;
};

}  // namespace limitree::python
