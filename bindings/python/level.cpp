#include <algorithm>
#include <array>

#include "compat.hpp"
#include "decision.hpp"
#include "limitree.hpp"
#include "value.hpp"

namespace limitree::python {

namespace {

PyTypeObject* level_type = nullptr;

LevelObject* of(PyObject* self) { return reinterpret_cast<LevelObject*>(self); }

void free_level(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_CLEAR(of(self)->part);
  PyObject_Free(self);
  Py_DECREF(type);
}

template <auto member, PyObject* convert(std::int64_t)>
PyGetSetDef field(const char* name, const char* doc) {
  return getter<LevelObject, member, convert>(name, doc);
}

PyObject* get_policy(PyObject* self, void* /*closure*/) {
  return Py_NewRef(policy_of(*of(self)));
}

PyObject* get_unit(PyObject* self, void* /*closure*/) {
  PyObject* const part = of(self)->part;
  return PyTuple_Check(part) ? Py_NewRef(PyTuple_GET_ITEM(part, 1))
                             : PyUnicode_InternFromString(kRequestUnit);
}

PyObject* get_mode(PyObject* self, void* /*closure*/) {
  return PyUnicode_InternFromString(limitree_mode_name(of(self)->value.mode));
}

PyObject* repr(PyObject* self) {
  const limitree_level& level = of(self)->value;
  PyObject* const unit = get_unit(self, nullptr);
  if (unit == nullptr) return nullptr;
  PyObject* const text = PyUnicode_FromFormat(
      "Level(policy=%R, unit=%R, limit=%lld, remaining=%lld, limited=%s)",
      policy_of(*of(self)), unit, static_cast<long long>(level.limit),
      static_cast<long long>(level.remaining),
      level.limited != 0 ? "True" : "False");
  Py_DECREF(unit);
  return text;
}

// For pickle and copy: the arguments of _level().
PyObject* reduce(PyObject* self, PyObject* /*none*/) {
  PyObject* const part = of(self)->part;
  if (!PyTuple_Check(part)) {
    return Py_BuildValue("(N(NO))", restorer("_level"),
                         state_of<LevelObject>(self), part);
  }
  return Py_BuildValue("(N(NOO))", restorer("_level"),
                       state_of<LevelObject>(self), PyTuple_GET_ITEM(part, 0),
                       PyTuple_GET_ITEM(part, 1));
}

std::array methods = {
    PyMethodDef{"__reduce__", reduce, METH_NOARGS, nullptr},
    PyMethodDef{},
};

std::array getters = {
    attribute("policy", get_policy,
              "The limit's place in the tree: 'user:*/trade'."),
    field<&limitree_level::limit, as_count>("limit",
                                            "Tokens in a full bucket."),
    field<&limitree_level::remaining, as_count>("remaining", "Tokens left."),
    field<&limitree_level::retry_after_ns, as_wait>(
        "retry_after",
        "Seconds until what was asked for fits here: None if it does, "
        "math.inf if never."),
    field<&limitree_level::reset_after_ns, as_seconds>(
        "reset_after", "Seconds until the bucket is full."),
    field<&limitree_level::next_after_ns, as_wait>(
        "next_after",
        "Seconds until an identical request fits here, math.inf if never."),
    field<&limitree_level::grows_after_ns, as_seconds>(
        "grows_after",
        "Seconds until `remaining` is larger, 0.0 if the bucket is full."),
    field<&limitree_level::window_ns, as_seconds>(
        "window",
        "Seconds in which an empty bucket fills; 0: how many at once."),
    field<&limitree_level::cost, as_count>("cost",
                                           "Tokens asked for at this level."),
    field<&limitree_level::limited, as_bool>(
        "limited", "Whether what was asked for does not fit."),
    field<&limitree_level::charged, as_bool>("charged",
                                             "Whether the bucket was written."),
    field<&limitree_level::soft, as_bool>(
        "soft", "Whether it fits only thanks to the overrun."),
    attribute("unit", get_unit, "What the limit counts: 'request', 'tokens'."),
    attribute("mode", get_mode,
              "How it takes part: 'enforce', 'shadow' or 'check'."),
    field<&limitree_level::path, as_count>(
        "path", "Index of the first path that met it."),
    PyGetSetDef{},
};

// Steals the reference to `part`; null: an error is set.
PyObject* new_level(const limitree_level& level, PyObject* part) {
  if (part == nullptr) return nullptr;
  LevelObject* const self = PyObject_New(LevelObject, level_type);
  if (self == nullptr) {
    Py_DECREF(part);
    return nullptr;
  }
  self->value = level;
  self->value.policy = {};
  self->value.unit = {};
  self->part = part;
  return reinterpret_cast<PyObject*>(self);
}

PyObject* to_text(limitree_str text) {
  return PyUnicode_DecodeUTF8(text.data, static_cast<Py_ssize_t>(text.size),
                              "backslashreplace");
}

PyObject* new_part(const limitree_level& level) {
  PyObject* const policy = to_text(level.policy);
  if (policy == nullptr || to_view(level.unit) == kRequestUnit) return policy;
  return Py_BuildValue("(NN)", policy, to_text(level.unit));
}

// _level(state, policy, unit="request"): the inverse of reduce().
PyObject* restore(PyObject* /*module*/, PyObject* args) {
  PyObject* state;
  PyObject* policy;
  PyObject* unit = nullptr;
  limitree_level level;
  if (PyArg_ParseTuple(args, "SU|U:_level", &state, &policy, &unit) == 0 ||
      !read_state(state, &level)) {
    return nullptr;
  }
  return new_level(level, unit == nullptr
                              ? Py_NewRef(policy)
                              : Py_BuildValue("(OO)", policy, unit));
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
    PyObject* const level = new_level(levels[i], new_part(levels[i]));
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
      slot(Py_tp_richcompare, compare_values<LevelObject>),
      slot(Py_tp_hash, hash_value<LevelObject>),
      slot(Py_tp_getset, getters.data()),
      slot(Py_tp_methods, methods.data()),
      slot(Py_tp_doc, "What one limit said about a request.  Immutable."),
      PyType_Slot{}};
  return PyModule_AddFunctions(module, restorers.data()) == 0 &&
         add_type(module, "limitree.Level", sizeof(LevelObject), slots.data(),
                  &level_type);
}

}  // namespace limitree::python
