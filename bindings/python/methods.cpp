#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <vector>

#include "arguments.hpp"
#include "compat.hpp"
#include "decision.hpp"
#include "errors.hpp"
#include "module.hpp"
#include "native.hpp"
#include "path_list.hpp"

namespace py = pybind11;

namespace limitree::python {

namespace {

// ---- Calls of greenlets under gevent ----------------------------------------

bool has_gevent() {
  static PyObject* const name = PyUnicode_InternFromString("gevent.monkey");
  PyObject* const module = name == nullptr ? nullptr : PyImport_GetModule(name);
  if (module == nullptr) {
    PyErr_Clear();
    return false;
  }
  Py_DECREF(module);
  return true;
}

// If gevent has been imported and `native` may have to wait, passes a call on
// to `function` of limitree.greenlets, which waits in gevent's way: waiting in
// the library would stop all greenlets.  Returns NotImplemented, borrowed, if
// the calling thread may wait in the library.  Null: a Python error is set.
PyObject* ask_greenlets(const Native& native, const char* function,
                        PyObject* self, std::int32_t operation,
                        const Arguments& arguments) {
  if (!native.is_remote() || !has_gevent()) return Py_NotImplemented;
  return guarded([&] {
    const py::int_ number(operation);
    const Py_ssize_t named =
        arguments.names == nullptr ? 0 : PyTuple_GET_SIZE(arguments.names);
    std::vector<PyObject*> values = {self, number.ptr()};
    values.insert(values.end(), arguments.values,
                  arguments.values + arguments.positional + named);
    const py::object ask =
        py::module_::import("limitree.greenlets").attr(function);
    PyObject* const answer = PyObject_Vectorcall(
        ask.ptr(), values.data(),
        static_cast<std::size_t>(arguments.positional) + 2, arguments.names);
    if (answer == Py_NotImplemented) Py_DECREF(answer);
    return answer;
  });
}

// ---- Methods ----------------------------------------------------------------

using Function = limitree_status(limitree_limiter*, const limitree_str*,
                                 std::size_t, std::int64_t, limitree_decision*,
                                 limitree_error**);

// Returns a decision, or None if it is an allowed one and only a denial is
// wanted.  Steals `levels`.  Notes the store's state last, because Python code
// may run then and close the limiter.
inline PyObject* answer_of(Native* native, const limitree_decision& decision,
                           PyObject* levels, Truth truth) {
  PyObject* const made = decision.limited == 0 && truth == Truth::kDenial
                             ? Py_NewRef(Py_None)
                             : new_decision(decision, levels, truth);
  if (made != nullptr) native->noted(decision.flags);
  return made;
}

using Paths = std::span<const limitree_path>;
using Costs = std::span<const limitree_cost>;

// Runs the general form of `operation`, and makes the answer without levels.
PyObject* decide_without_levels(Native* native, std::int32_t operation,
                                Paths paths, Costs units, Truth truth) {
  limitree_decision decision;
  if (native->call(limitree_decide_costs, operation, paths.data(), paths.size(),
                   units.data(), units.size(), nullptr, std::size_t{0},
                   &decision) < 0) {
    return nullptr;
  }
  return answer_of(native, decision, nullptr, truth);
}

// The same, with the verdict of each level.
PyObject* decide_with_levels(Native* native, std::int32_t operation,
                             Paths paths, Costs units, Truth truth) {
  std::array<limitree_level, kMaxLevels> levels;
  limitree_decision decision;
  if (native->call(limitree_decide_costs, operation, paths.data(), paths.size(),
                   units.data(), units.size(), levels.data(), levels.size(),
                   &decision) < 0) {
    return nullptr;
  }
  PyObject* kept = nullptr;
  if (decision.limited != 0 || truth != Truth::kDenial) {
    kept = new_levels(levels.data(), decision.level_count);
    if (kept == nullptr) return nullptr;
  }
  return answer_of(native, decision, kept, truth);
}

// Reads the last two arguments of a call: `cost` and `levels`, or null.
bool read_cost_and_levels(PyObject* const* values, Options* options) {
  return (values[0] == nullptr || read_cost(values[0], options)) &&
         (values[1] == nullptr || read_levels(values[1], options));
}

// The general form of `operation` for one path.
PyObject* decide_generally(Native* native, std::int32_t operation,
                           std::span<const limitree_str> path,
                           const Options& options, Truth truth) {
  limitree_path one = {path.data(), path.size(), options.cost,
                       LIMITREE_PART_CHARGE};
  UnitCosts units;
  if ((options.needs & kUnits) != 0 &&
      !units.read_cost(options.units, &one.cost)) {
    return nullptr;
  }
  const auto decide = (options.needs & kLevels) != 0 ? decide_with_levels
                                                     : decide_without_levels;
  return decide(native, operation, {&one, 1}, units.others(), truth);
}

// Reads the named arguments of a method with *path.
bool read_named(const Arguments& arguments, const char* function,
                Options* options) {
  if (arguments.names == nullptr) return true;
  static constexpr std::array kNames = {"cost", "levels"};
  std::array<PyObject*, kNames.size()> values;
  return Signature{function, kNames, 0, 0}.place(
             {arguments.values + arguments.positional, 0, arguments.names},
             values.data()) &&
         read_cost_and_levels(values.data(), options);
}

constexpr std::array kOperationNames = {"authorize", "peek", "spend", "refund"};

// authorize, peek, spend, refund: `function` and `operation` are the same.
template <Function* function, std::size_t operation>
PyObject* decide(PyObject* self, PyObject* const* args, Py_ssize_t count,
                 PyObject* names) {
  Native* const native = native_of(self);
  if (native == nullptr) return nullptr;
  Options options(native->with_levels());
  Path path;
  if (!read_named({args, count, names}, kOperationNames[operation], &options) ||
      !path.read(args, count, "path")) {
    return nullptr;
  }
  PyObject* const answer =
      ask_greenlets(*native, "decide", self, operation, {args, count, names});
  if (answer != Py_NotImplemented) [[unlikely]]
    return answer;
  if (options.needs != kNothing) {
    return decide_generally(native, operation, {path.data(), path.size()},
                            options, Truth::kNone);
  }
  limitree_decision decision;
  if (native->call(function, path.data(), path.size(), options.cost,
                   &decision) < 0) {
    return nullptr;
  }
  return answer_of(native, decision, nullptr, Truth::kNone);
}

constexpr std::array kNamesOfAll = {"authorize_all", "peek_all", "spend_all",
                                    "refund_all"};

// The same operations over several paths.
template <std::int32_t operation>
PyObject* decide_all(PyObject* self, PyObject* const* args, Py_ssize_t count,
                     PyObject* names) {
  static constexpr std::array kNames = {"paths", "cost", "levels", "part"};
  static constexpr Signature kSignature = {kNamesOfAll[operation], kNames, 1,
                                           2};
  Native* const native = native_of(self);
  if (native == nullptr) return nullptr;
  std::array<PyObject*, kNames.size()> values;
  bool with_levels = native->with_levels();
  if (!kSignature.place({args, count, names}, values.data()) ||
      (values[2] != nullptr &&
       !read_switch(values[2], "levels", &with_levels))) {
    return nullptr;
  }
  PyObject* const answer = ask_greenlets(*native, "decide_all", self, operation,
                                         {args, count, names});
  if (answer != Py_NotImplemented) [[unlikely]]
    return answer;
  try {
    PathList paths;
    if (!paths.read(values[0], values[1], values[3])) return nullptr;
    const auto decide =
        with_levels ? decide_with_levels : decide_without_levels;
    return decide(native, operation, {paths.data(), paths.size()},
                  paths.units(), Truth::kNone);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

// None if the action is allowed, so that `if limited:` works.
PyObject* authorize_action_for_user(PyObject* self, PyObject* const* args,
                                    Py_ssize_t count, PyObject* names) {
  static constexpr std::array kNames = {"user", "action", "cost", "levels"};
  static constexpr Signature kSignature = {"authorize_action_for_user", kNames,
                                           2, 3};
  Native* const native = native_of(self);
  if (native == nullptr) return nullptr;
  std::array<PyObject*, kNames.size()> values;
  Options options(native->with_levels());
  limitree_str user;
  limitree_str action;
  if (!kSignature.place({args, count, names}, values.data()) ||
      !read_segment(values[0], "user", -1, &user) ||
      !read_segment(values[1], "action", -1, &action) ||
      !read_cost_and_levels(&values[2], &options)) {
    return nullptr;
  }
  PyObject* const answer =
      ask_greenlets(*native, "decide_for_user", self, LIMITREE_AUTHORIZE,
                    {args, count, names});
  if (answer != Py_NotImplemented) [[unlikely]]
    return answer;
  if (options.needs != kNothing) {
    const std::array path = {limitree_str{"user", 4}, user, action};
    return decide_generally(native, LIMITREE_AUTHORIZE, path, options,
                            Truth::kDenial);
  }
  limitree_decision decision;
  if (native->call(limitree_authorize_action_for_user, user, action,
                   options.cost, &decision) < 0) {
    return nullptr;
  }
  return answer_of(native, decision, nullptr, Truth::kDenial);
}

PyObject* reset(PyObject* self, PyObject* const* args, Py_ssize_t count,
                PyObject* names) {
  Native* const native = native_of(self);
  if (native == nullptr) return nullptr;
  static constexpr std::array kNames = {"leaf"};
  PyObject* leaf;
  bool is_leaf = false;
  Path path;
  if (!Signature{"reset", kNames, 0, 0}.place({args + count, 0, names},
                                              &leaf) ||
      (leaf != nullptr && !read_switch(leaf, "leaf", &is_leaf)) ||
      !path.read(args, count, "path")) {
    return nullptr;
  }
  const limitree_status status =
      native->call(limitree_reset, path.data(), path.size(), is_leaf ? 1 : 0);
  return status < 0 ? nullptr : Py_NewRef(Py_None);
}

// The last argument is the duration in nanoseconds; None ends the block.
PyObject* block(PyObject* self, PyObject* const* args, Py_ssize_t count,
                PyObject* /*names*/) {
  Native* const native = native_of(self);
  if (native == nullptr) return nullptr;
  Path path;
  if (count < 1) {
    PyErr_SetString(PyExc_TypeError, "_block() takes a duration");
    return nullptr;
  }
  if (!path.read(args, count - 1, "path")) return nullptr;
  PyObject* const duration = args[count - 1];
  limitree_status status = LIMITREE_OK;
  if (duration == Py_None) {
    status = native->call(limitree_unblock, path.data(), path.size());
  } else {
    const std::int64_t ns = PyLong_AsLongLong(duration);
    if (ns == -1 && PyErr_Occurred() != nullptr) return nullptr;
    status = native->call(limitree_block, path.data(), path.size(), ns);
  }
  return status < 0 ? nullptr : Py_NewRef(Py_None);
}

// ---- Adding them to the type ------------------------------------------------

// PyMethodDef has one type of function, and distinguishes them by flags.
template <typename Method>
PyMethodDef method(const char* name, Method* function, const char* doc) {
  return {name,
          reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
          METH_FASTCALL | METH_KEYWORDS, doc};
}

std::array methods = {
    method("authorize", decide<limitree_authorize, LIMITREE_AUTHORIZE>,
           "authorize($self, /, *path, cost=1, levels=None)\n--\n\n"
           "Charge `cost` to every limit along `path` if all of them allow it, "
           "else charge nothing.\n\n"
           "A cost of 0 only looks.  If limits count other units than "
           "requests, the cost is\na dict of units, {\"tokens\": 812}, with "
           "1 \"request\" unless it says otherwise.\nReturns a Decision, "
           "allowed or not.\n"
           "Raises TypeError for a segment that is neither str nor bytes, "
           "ValueError for an\nempty path, an unknown first segment, a "
           "negative cost, a unit that is missing or\nthat no limit counts, "
           "OverflowError for a cost beyond 64 bits, StoreError and\n"
           "StoreTimeout when the store fails."),
    method("peek", decide<limitree_peek, LIMITREE_PEEK>,
           "peek($self, /, *path, cost=1, levels=None)\n--\n\n"
           "Return the Decision of authorize, but charge nothing."),
    method("spend", decide<limitree_spend, LIMITREE_SPEND>,
           "spend($self, /, *path, cost=1, levels=None)\n--\n\n"
           "Charge `cost` even if it does not fit; a bucket can only become "
           "empty.\n\n"
           "For costs known afterwards, such as the bytes of a response."
           "  The Decision\nis never limited.  Raises what authorize raises."),
    method("refund", decide<limitree_refund, LIMITREE_REFUND>,
           "refund($self, /, *path, cost=1, levels=None)\n--\n\n"
           "Give `cost` back to every limit along `path`, up to its "
           "capacity.\n\nRaises what authorize raises."),
    method("authorize_all", decide_all<LIMITREE_AUTHORIZE>,
           "authorize_all($self, /, paths, cost=1, *, levels=None, "
           "part=None)\n--\n\n"
           "Charge `cost` to every limit along all of `paths`, or nothing.\n\n"
           "A list or tuple of costs has one for each path; in a dict of "
           "units, only \"request\"\nmay be such a list.  A bucket that "
           "several paths reach is charged once, with the\nlargest cost.  "
           "`part` is \"charge\", \"check\"\n(counts, but is not charged) or "
           "\"spend_if_fits\" (never denies; charged if\nthe cost fits), or a "
           "list with one for each path.\n"
           "Raises what authorize raises, and ValueError for another number of "
           "costs or parts."),
    method(
        "peek_all", decide_all<LIMITREE_PEEK>,
        "peek_all($self, /, paths, cost=1, *, levels=None, part=None)\n--\n\n"
        "Return the Decision of authorize_all, but charge nothing."),
    method(
        "spend_all", decide_all<LIMITREE_SPEND>,
        "spend_all($self, /, paths, cost=1, *, levels=None, part=None)\n--\n\n"
        "Charge `cost` along all of `paths`, as spend; costs as those of "
        "authorize_all."),
    method(
        "refund_all", decide_all<LIMITREE_REFUND>,
        "refund_all($self, /, paths, cost=1, *, levels=None, part=None)\n--\n\n"
        "Give `cost` back along all of `paths`, as refund; costs as those of "
        "authorize_all."),
    method(
        "authorize_action_for_user", authorize_action_for_user,
        "authorize_action_for_user($self, /, user, action, cost=1, *, "
        "levels=None)\n--\n\n"
        "Return None if `user` may do `action` now, else the Decision, which "
        "is true.\n\n"
        "The path is 'user', user, action.  Raises what authorize raises."),
    method("reset", reset,
           "reset($self, /, *path, leaf=False)\n--\n\n"
           "Forget the buckets of every limit along `path`.\n\n"
           "With `leaf`, only those of the deepest node that has limits.  "
           "Raises what\nauthorize raises."),
    method("_block", block, nullptr),
};

}  // namespace

bool add_methods(PyTypeObject* type) {
  return std::all_of(methods.begin(), methods.end(), [&](PyMethodDef& method) {
    const auto descriptor = pybind11::reinterpret_steal<pybind11::object>(
        PyDescr_NewMethod(type, &method));
    return descriptor &&
           PyObject_SetAttrString(reinterpret_cast<PyObject*>(type),
                                  method.ml_name, descriptor.ptr()) == 0;
  });
}

}  // namespace limitree::python
