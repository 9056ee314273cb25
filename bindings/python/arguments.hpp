// The arguments of the methods that are called for each request, read without
// copies: a segment is the bytes inside of its str or bytes object.

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

// What a METH_FASTCALL | METH_KEYWORDS function gets.
struct Arguments {
  PyObject* const* values;
  Py_ssize_t positional;
  PyObject* names;  // a tuple, or null: those of the values that follow
};

// Reads `value` into *segment; `name` and `index` are for the error message,
// "path[1]"; an index of -1 leaves the brackets out.  False: TypeError, or
// UnicodeEncodeError for what UTF-8 cannot say, is set.
bool read_segment(PyObject* value, const char* name, Py_ssize_t index,
                  limitree_str* segment);

// Reads an int; False: TypeError, or OverflowError beyond 64 bits, is set.
bool read_cost(PyObject* value, std::int64_t* cost);

// Reads a bool into *out; None leaves it as it is.  False: TypeError is set.
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
  std::array<limitree_str, 8> few_;  // left as it is until read
  std::vector<limitree_str> many_;
  std::size_t size_ = 0;
};

// Keyword arguments of a request.
struct Keywords {
  std::int64_t cost = 1;
  bool levels = false;
  bool leaf = false;

  // Reads what is named of `allowed`, in which each bit stands for a keyword.
  enum { kCost = 1, kLevels = 2, kLeaf = 4 };
  bool read(const Arguments& arguments, unsigned allowed, const char* function);
};

// The parameters of a method without *path.
struct Signature {
  const char* function;
  std::span<const char* const> names;
  std::size_t required;    // of the names, the first so many must be given
  std::size_t positional;  // the first so many may be given without a name

  // Writes the argument for each name to values[0 ...], null if there is none.
  // False: TypeError is set.
  bool place(const Arguments& arguments, PyObject** values) const;
};

}  // namespace limitree::python

#endif  // LIMITREE_PYTHON_ARGUMENTS_HPP
