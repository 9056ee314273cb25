#include "level.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "compat.hpp"
#include "fields.hpp"
#include "state.hpp"
#include "types.hpp"

namespace limitree::python {

namespace {

PyTypeObject* level_type = nullptr;

LevelObject* of(PyObject* self) { return reinterpret_cast<LevelObject*>(self); }

void free_level(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_CLEAR(of(self)->policy);
  PyObject_Free(self);
  Py_DECREF(type);
}

constexpr Field at(Kind kind, std::size_t offset) {
  return {kind, offsetof(LevelObject, level) + offset};
}

constexpr Field kLimit = at(Kind::kCount, offsetof(limitree_level, limit));
constexpr Field kRemaining =
    at(Kind::kCount, offsetof(limitree_level, remaining));
constexpr Field kRetryAfter =
    at(Kind::kWait, offsetof(limitree_level, retry_after_ns));
constexpr Field kResetAfter =
    at(Kind::kSeconds, offsetof(limitree_level, reset_after_ns));
constexpr Field kNextAfter =
    at(Kind::kWait, offsetof(limitree_level, next_after_ns));
constexpr Field kGrowsAfter =
    at(Kind::kSeconds, offsetof(limitree_level, grows_after_ns));
constexpr Field kWindow =
    at(Kind::kSeconds, offsetof(limitree_level, window_ns));
constexpr Field kCost = at(Kind::kCount, offsetof(limitree_level, cost));
constexpr Field kLimited = at(Kind::kFact, offsetof(limitree_level, limited));
constexpr Field kCharged = at(Kind::kFact, offsetof(limitree_level, charged));
constexpr Field kSoft = at(Kind::kFact, offsetof(limitree_level, soft));
constexpr Field kPath = at(Kind::kIndex, offsetof(limitree_level, path));

PyObject* get_policy(PyObject* self, void* /*closure*/) {
  return Py_NewRef(of(self)->policy);
}

PyObject* get_mode(PyObject* self, void* /*closure*/) {
  return PyUnicode_InternFromString(limitree_mode_name(of(self)->level.mode));
}

PyObject* repr(PyObject* self) {
  const limitree_level& level = of(self)->level;
  return PyUnicode_FromFormat(
      "Level(policy=%R, limit=%lld, remaining=%lld, limited=%s)",
      of(self)->policy, static_cast<long long>(level.limit),
      static_cast<long long>(level.remaining),
      level.limited != 0 ? "True" : "False");
}

// For pickle and copy: the arguments of _level().
PyObject* reduce(PyObject* self, PyObject* /*none*/) {
  return Py_BuildValue("(N(NO))", restorer("_level"), state_of(of(self)->level),
                       of(self)->policy);
}

PyObject* compare(PyObject* self, PyObject* other, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) ||
      Py_TYPE(other) != level_type) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  int equal = static_cast<int>(std::memcmp(&of(self)->level, &of(other)->level,
                                           sizeof(limitree_level)) == 0);
  if (equal != 0) {
    equal =
        PyObject_RichCompareBool(of(self)->policy, of(other)->policy, Py_EQ);
  }
  if (equal < 0) return nullptr;
  return PyBool_FromLong(
      static_cast<long>((equal != 0) == (operation == Py_EQ)));
}

Py_hash_t hash(PyObject* self) {
  return hash_of(
      Py_BuildValue("(NO)", state_of(of(self)->level), of(self)->policy));
}

std::array methods = {
    PyMethodDef{"__reduce__", reduce, METH_NOARGS, nullptr},
    PyMethodDef{},
};

std::array getters = {
    PyGetSetDef{"policy", get_policy, nullptr,
                "The limit's place in the tree: 'user:*/trade'.", nullptr},
    getter("limit", &kLimit, "Tokens in a full bucket."),
    getter("remaining", &kRemaining, "Tokens left."),
    getter("retry_after", &kRetryAfter,
           "Seconds until what was asked for fits here: None if it does, "
           "math.inf if never."),
    getter("reset_after", &kResetAfter, "Seconds until the bucket is full."),
    getter("next_after", &kNextAfter,
           "Seconds until an identical request fits here, math.inf if never."),
    getter("grows_after", &kGrowsAfter,
           "Seconds until `remaining` is larger, 0.0 if the bucket is full."),
    getter("window", &kWindow, "Seconds in which an empty bucket fills."),
    getter("cost", &kCost, "Tokens asked for at this level."),
    getter("limited", &kLimited, "Whether what was asked for does not fit."),
    getter("charged", &kCharged, "Whether the bucket was written."),
    getter("soft", &kSoft, "Whether it fits only thanks to the overrun."),
    PyGetSetDef{"mode", get_mode, nullptr,
                "How it takes part: 'enforce', 'shadow' or 'check'.", nullptr},
    getter("path", &kPath, "Index of the first path that met it."),
    PyGetSetDef{},
};

// Steals the reference to `policy`; null: an error is set.
PyObject* new_level(const limitree_level& level, PyObject* policy) {
  if (policy == nullptr) return nullptr;
  LevelObject* const self = PyObject_New(LevelObject, level_type);
  if (self == nullptr) {
    Py_DECREF(policy);
    return nullptr;
  }
  self->level = level;
  self->level.policy = {};
  self->policy = policy;
  return reinterpret_cast<PyObject*>(self);
}

// _level(state, policy): the inverse of reduce().
PyObject* restore(PyObject* /*module*/, PyObject* args) {
  PyObject* state;
  PyObject* policy;
  limitree_level level;
  if (PyArg_ParseTuple(args, "SU:_level", &state, &policy) == 0 ||
      !read_state(state, &level)) {
    return nullptr;
  }
  return new_level(level, Py_NewRef(policy));
}

std::array restorers = {
    PyMethodDef{"_level", restore, METH_VARARGS, nullptr},
    PyMethodDef{},
};

}  // namespace

bool are_levels(PyObject* object) {
  bool are = PyTuple_CheckExact(object) != 0;
  for (Py_ssize_t i = 0; are && i < PyTuple_GET_SIZE(object); ++i) {
    are = Py_TYPE(PyTuple_GET_ITEM(object, i)) == level_type;
  }
  if (!are) {
    PyErr_SetString(PyExc_TypeError, "levels must be a tuple of Level or None");
  } else if (PyTuple_GET_SIZE(object) > kMaxLevels) {
    PyErr_Format(PyExc_ValueError, "a decision has at most %zd levels, not %zd",
                 kMaxLevels, PyTuple_GET_SIZE(object));
    are = false;
  }
  return are;
}

PyObject* new_levels(const limitree_level* levels, Py_ssize_t count) {
  const Py_ssize_t kept = std::min(count, kMaxLevels);
  PyObject* const tuple = PyTuple_New(kept);
  if (tuple == nullptr) return nullptr;
  for (Py_ssize_t i = 0; i < kept; ++i) {
    const limitree_str policy = levels[i].policy;
    PyObject* const level = new_level(
        levels[i],
        PyUnicode_DecodeUTF8(policy.data, static_cast<Py_ssize_t>(policy.size),
                             "backslashreplace"));
    if (level == nullptr) {
      Py_DECREF(tuple);
      return nullptr;
    }
    PyTuple_SET_ITEM(tuple, i, level);
  }
  return tuple;
}

bool add_level_type(PyObject* module) {
  std::array slots = {
      slot(Py_tp_dealloc, free_level),
      slot(Py_tp_repr, repr),
      slot(Py_tp_richcompare, compare),
      slot(Py_tp_hash, hash),
      slot(Py_tp_getset, getters.data()),
      slot(Py_tp_methods, methods.data()),
      slot(Py_tp_doc, "What one limit said about a request.  Immutable."),
      PyType_Slot{}};
  return PyModule_AddFunctions(module, restorers.data()) == 0 &&
         add_type(module, "limitree.Level", sizeof(LevelObject), slots.data(),
                  &level_type);
}

}  // namespace limitree::python
