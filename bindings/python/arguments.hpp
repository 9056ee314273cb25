// Arguments of the methods that are called for each request, read without
// copies: a segment is the bytes inside its str or bytes object.

#ifndef LIMITREE_PYTHON_ARGUMENTS_HPP
#define LIMITREE_PYTHON_ARGUMENTS_HPP

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "limitree.h"

namespace limitree::python {

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

// Reads an int; False: TypeError, or OverflowError beyond 64 bits, is set.
bool read_cost(PyObject* value, std::int64_t* cost);

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

#endif  // LIMITREE_PYTHON_ARGUMENTS_HPP
