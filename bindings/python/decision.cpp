#include "decision.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include "compat.hpp"
#include "value.hpp"

namespace limitree::python {

namespace {

struct DecisionObject {
  PyObject_HEAD limitree_decision value;
  PyObject* part;  // its levels: a tuple, or null
  Truth truth;
};

// The global interpreter lock guards it for the life of the process.
PyTypeObject* decision_type = nullptr;
std::array<PyObject*, 64> spare;
std::size_t spare_count = 0;

DecisionObject* of(PyObject* self) {
  return reinterpret_cast<DecisionObject*>(self);
}

void free_decision(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_CLEAR(of(self)->part);
  if (spare_count < spare.size()) {
    spare[spare_count++] = self;
  } else {
    PyObject_Free(self);
  }
  Py_DECREF(type);
}

// ---- Attributes and methods -------------------------------------------------

template <auto member, PyObject* convert(std::int64_t)>
PyGetSetDef field(const char* name, const char* doc) {
  return getter<DecisionObject, member, convert>(name, doc);
}

template <std::uint32_t flag>
PyObject* get_flag(PyObject* self, void* /*closure*/) {
  return PyBool_FromLong((of(self)->value.flags & flag) != 0);
}

PyObject* get_levels(PyObject* self, void* /*closure*/) {
  return Py_NewRef(part_of<DecisionObject>(self));
}

PyObject* get_source(PyObject* self, void* /*closure*/) {
  return PyUnicode_InternFromString(
      limitree_source_name(of(self)->value.source));
}

PyObject* as_cell(PyObject* self, PyObject* /*none*/) {
  std::array<std::int64_t, 5> cell;
  limitree_decision_cell(&of(self)->value, cell.data());
  return Py_BuildValue(
      "(LLLLL)", static_cast<long long>(cell[0]),
      static_cast<long long>(cell[1]), static_cast<long long>(cell[2]),
      static_cast<long long>(cell[3]), static_cast<long long>(cell[4]));
}

PyObject* headers(PyObject* self, PyObject* const* args, Py_ssize_t count,
                  PyObject* names) {
  return http_headers(of(self)->value, of(self)->part, {args, count, names});
}

PyObject* problem_json(PyObject* self, PyObject* /*none*/) {
  return http_problem(of(self)->value, of(self)->part);
}

PyObject* repr(PyObject* self) {
  PyObject* const retry_after = as_wait(of(self)->value.retry_after_ns);
  PyObject* const reset_after = as_seconds(of(self)->value.reset_after_ns);
  PyObject* text = nullptr;
  if (retry_after != nullptr && reset_after != nullptr) {
    const limitree_decision& decision = of(self)->value;
    text = PyUnicode_FromFormat(
        "Decision(limited=%s, limit=%lld, remaining=%lld, retry_after=%R, "
        "reset_after=%R)",
        decision.limited != 0 ? "True" : "False",
        static_cast<long long>(decision.limit),
        static_cast<long long>(decision.remaining), retry_after, reset_after);
  }
  Py_XDECREF(retry_after);
  Py_XDECREF(reset_after);
  return text;
}

bool is_decision(PyObject* object) { return Py_TYPE(object) == decision_type; }

// For pickle and copy: the arguments of _decision().
PyObject* reduce(PyObject* self, PyObject* /*none*/) {
  return Py_BuildValue(
      "(N(NOi))", restorer("_decision"), state_of<DecisionObject>(self),
      part_of<DecisionObject>(self), of(self)->truth == Truth::kDenial);
}

// Rate limiters use `if decision:` in both senses, so it is an error.  A
// denial-only result is true.
int truth(PyObject* self) {
  if (of(self)->truth == Truth::kDenial) return 1;
  PyErr_SetString(PyExc_TypeError,
                  "a Decision is neither true nor false: ask for its "
                  "attribute `limited` or `allowed`");
  return -1;
}

std::array getters = {
    field<&limitree_decision::limited, as_bool>(
        "limited", "Whether the request was denied."),
    field<&limitree_decision::limited, as_opposite>(
        "allowed", "The opposite of `limited`."),
    field<&limitree_decision::limit, as_count>(
        "limit",
        "Tokens in a full bucket of the binding level; -1 if unlimited."),
    field<&limitree_decision::remaining, as_count>(
        "remaining", "Tokens left at the binding level; -1 if unlimited."),
    field<&limitree_decision::retry_after_ns, as_wait>(
        "retry_after",
        "Seconds to wait until the same request fits: None if it was "
        "allowed,\nmath.inf if its cost is above the capacity."),
    field<&limitree_decision::reset_after_ns, as_seconds>(
        "reset_after", "Seconds until every bucket on the path is full."),
    field<&limitree_decision::next_after_ns, as_wait>(
        "next_after",
        "Seconds until an identical request fits, 0.0 if at once;\nmath.inf "
        "if its cost is above the capacity."),
    field<&limitree_decision::binding_reset_after_ns, as_seconds>(
        "binding_reset_after",
        "Seconds until the bucket of the binding level is full."),
    field<&limitree_decision::held, as_count>(
        "held",
        "How many limits hold what was reserved; 0 if nothing was reserved."),
    attribute("levels", get_levels,
              "A tuple with the Level of each limit met, from the root to "
              "the leaf, path\nafter path, at most 64; None unless asked "
              "for by `levels=True`."),
    attribute("source", get_source,
              "Who decided: 'store', 'deny_cache', 'lease', 'local', 'allow' "
              "or 'deny'."),
    attribute("unlimited", get_flag<LIMITREE_UNLIMITED>,
              "Whether there is no limit on the path."),
    attribute("shadowed", get_flag<LIMITREE_SHADOWED>,
              "Whether a limit in mode shadow would have denied."),
    attribute("degraded", get_flag<LIMITREE_DEGRADED>,
              "Whether the store failed and on_store_error decided."),
    attribute("soft", get_flag<LIMITREE_SOFT>,
              "Whether it was allowed out of the overrun share."),
    PyGetSetDef{},
};

std::array methods = {
    PyMethodDef{"as_cell", as_cell, METH_NOARGS,
                "as_cell($self, /)\n--\n\n"
                "Return (limited, limit, remaining, retry_after, reset_after) "
                "as CL.THROTTLE of\nredis-cell does: whole seconds, rounded "
                "up; -1 for \"not limited\" and \"never\"."},
    PyMethodDef{
        "headers",
        reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(headers)),
        METH_FASTCALL | METH_KEYWORDS,
        "headers($self, /, style='ietf', reset='delta')\n--\n\n"
        "Return the headers of a response as a list of (name, value).\n\n"
        "`style` is one of docs/http.md; the default, the fields of the IETF "
        "draft, names\nevery limit that counts.  Those that name one limit "
        "name the binding one.  With\n`reset=\"epoch\"` the reset of the "
        "style \"legacy\" counts from 1970, not from now.\n`Retry-After` is "
        "the last if the request was limited and a wait helps.  There are\n"
        "none if there is no limit on the path.\n\n"
        "Raises ValueError for an unknown style, and if the style names every "
        "limit but\nthe decision does not carry its levels."},
    PyMethodDef{"_problem_json", problem_json, METH_NOARGS,
                "_problem_json($self, /)\n--\n\n"
                "Return the body of a 429, application/problem+json.\n\n"
                "Raises ValueError if the request was allowed."},
    PyMethodDef{"__reduce__", reduce, METH_NOARGS, nullptr},
    PyMethodDef{},
};

// _decision(state, levels, is_denial): the inverse of reduce().
PyObject* restore(PyObject* /*module*/, PyObject* args) {
  PyObject* state;
  PyObject* levels;
  int is_denial;
  limitree_decision decision;
  if (PyArg_ParseTuple(args, "SOp:_decision", &state, &levels, &is_denial) ==
          0 ||
      !read_state(state, &decision)) {
    return nullptr;
  }
  if (levels == Py_None) {
    levels = nullptr;
  } else if (!are_levels(levels)) {
    return nullptr;
  }
  return new_decision(decision, Py_XNewRef(levels),
                      is_denial != 0 ? Truth::kDenial : Truth::kNone);
}

std::array restorers = {
    PyMethodDef{"_decision", restore, METH_VARARGS, nullptr},
    PyMethodDef{},
};

}  // namespace

const limitree_decision* decision_in(PyObject* decision) {
  if (is_decision(decision)) return &of(decision)->value;
  PyErr_SetString(PyExc_TypeError, "decision must be a Decision");
  return nullptr;
}

PyObject* denial_or_none(PyObject* decision) {
  if (decision_in(decision) == nullptr) return nullptr;
  if (of(decision)->value.limited == 0) Py_RETURN_NONE;
  return new_decision(of(decision)->value, Py_XNewRef(of(decision)->part),
                      Truth::kDenial);
}

PyObject* new_decision(const limitree_decision& decision, PyObject* levels,
                       Truth truth) {
  PyObject* self;
  if (spare_count > 0) {
    self = PyObject_Init(spare[--spare_count], decision_type);
  } else {
    self = reinterpret_cast<PyObject*>(
        PyObject_New(DecisionObject, decision_type));
    if (self == nullptr) {
      Py_XDECREF(levels);
      return nullptr;
    }
  }
  of(self)->value = decision;
  of(self)->part = levels;
  of(self)->truth = truth;
  return self;
}

bool add_decision_type(PyObject* module) {
  std::array slots = {
      slot(Py_tp_dealloc, free_decision),
      slot(Py_tp_repr, repr),
      slot(Py_nb_bool, truth),
      slot(Py_tp_richcompare, compare_values<DecisionObject>),
      slot(Py_tp_hash, hash_value<DecisionObject>),
      slot(Py_tp_getset, getters.data()),
      slot(Py_tp_methods, methods.data()),
      slot(Py_tp_doc, "What was decided about one request.  Immutable."),
      PyType_Slot{}};
  return PyModule_AddFunctions(module, restorers.data()) == 0 &&
         add_type(module, "limitree.Decision", sizeof(DecisionObject),
                  slots.data(), &decision_type);
}

}  // namespace limitree::python
