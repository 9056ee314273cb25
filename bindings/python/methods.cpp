#include <algorithm>
#include <array>
#include <new>
#include <span>

#include "arguments.hpp"
#include "compat.hpp"
#include "decision.hpp"
#include "level.hpp"
#include "module.hpp"
#include "native.hpp"
#include "path_list.hpp"

namespace py = pybind11;

namespace limitree::python {

namespace {

// ---- Calls of greenlets under gevent ----------------------------------------

// The arguments of a method of Limiter.
struct CallArguments {
  std::int32_t operation;  // LIMITREE_AUTHORIZE ...
  PyObject* paths;         // one path, or several if `several`
  bool several;
  PyObject* cost;  // one, or one for each path; null: 1
  bool levels;
  PyObject* part = nullptr;  // the same; null: none
};

// Whether gevent has been imported and `native` may have to wait.  If so, calls
// go to ask_greenlets() first: waiting in the library would stop all greenlets,
// so limitree.greenlets waits in gevent's way.
bool may_be_greenlets(const Native& native) {
  if (!native.is_remote()) return false;
  static PyObject* const name = PyUnicode_InternFromString("gevent.monkey");
  PyObject* const module = name == nullptr ? nullptr : PyImport_GetModule(name);
  if (module == nullptr) {
    PyErr_Clear();
    return false;
  }
  Py_DECREF(module);
  return true;
}

// Returns the Decision, or None if the calling thread may wait in the library.
// Null: a Python error is set.
PyObject* ask_greenlets(PyObject* self, const CallArguments& call) {
  try {
    const py::int_ one(1);
    const py::handle cost(call.cost == nullptr ? one.ptr() : call.cost);
    const py::handle part(call.part == nullptr ? Py_None : call.part);
    return py::module_::import("limitree.greenlets")
        .attr("ask")(py::handle(self), call.operation, py::handle(call.paths),
                     call.several, cost, call.levels, part)
        .release()
        .ptr();
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  }
}

// The same for one path with the segments `path`.
PyObject* ask_greenlets(PyObject* self, std::int32_t operation,
                        std::span<PyObject* const> path, std::int64_t cost,
                        bool levels) {
  try {
    py::tuple segments(path.size());
    for (std::size_t i = 0; i < path.size(); ++i) {
      segments[i] = py::handle(path[i]);
    }
    const py::int_ number(cost);
    return ask_greenlets(
        self, {operation, segments.ptr(), false, number.ptr(), levels});
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  }
}

// ---- Methods ----------------------------------------------------------------

using Function = limitree_status(limitree_limiter*, const limitree_str*,
                                 std::size_t, std::int64_t, limitree_decision*,
                                 limitree_error**);

// Returns `made`, the decision.  Notes the store's state last, because Python
// code may run then and close the limiter.
PyObject* noted(Native* native, const limitree_decision& decision,
                PyObject* made) {
  if (made != nullptr) {
    native->note(decision.flags);
    native->write_log();
  }
  return made;
}

// Runs the general form of `operation` and keeps the verdict of each level.  If
// only a denial is wanted, returns None for an allowed decision.
PyObject* decide_with_levels(Native* native, std::int32_t operation,
                             std::span<const limitree_path> paths,
                             Truth truth = Truth::kNone) {
  std::array<limitree_level, kMaxLevels> levels;
  limitree_decision decision;
  const bool done =
      native->call([&](limitree_limiter* limiter, limitree_error** error) {
        return limitree_decide(limiter, operation, paths.data(), paths.size(),
                               levels.data(), levels.size(), &decision, error);
      });
  if (!done) return nullptr;
  if (decision.limited == 0 && truth == Truth::kDenial) {
    return noted(native, decision, Py_NewRef(Py_None));
  }
  PyObject* const kept = new_levels(levels.data(), decision.level_count);
  if (kept == nullptr) return nullptr;
  return noted(native, decision, new_decision(decision, kept, truth));
}

// The options of a request, with their defaults.
struct Options {
  std::int64_t cost = 1;
  bool levels;
};

// Reads the last two arguments of a call: `cost` and `levels`, or null.
bool read_cost_and_levels(PyObject* const* values, Options* options) {
  return (values[0] == nullptr || read_cost(values[0], &options->cost)) &&
         (values[1] == nullptr ||
          read_switch(values[1], "levels", &options->levels));
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
  Options options = {.levels = native->with_levels()};
  Path path;
  if (!read_named({args, count, names}, kOperationNames[operation], &options) ||
      !path.read(args, count, "path")) {
    return nullptr;
  }
  if (may_be_greenlets(*native)) [[unlikely]] {
    PyObject* const decision =
        ask_greenlets(self, operation, {args, static_cast<std::size_t>(count)},
                      options.cost, options.levels);
    if (decision != Py_None) return decision;
    Py_DECREF(decision);
  }
  if (options.levels) {
    const limitree_path one = {path.data(), path.size(), options.cost,
                               LIMITREE_PART_CHARGE};
    return decide_with_levels(native, operation, {&one, 1});
  }
  limitree_decision decision;
  const bool done =
      native->call([&](limitree_limiter* limiter, limitree_error** error) {
        return function(limiter, path.data(), path.size(), options.cost,
                        &decision, error);
      });
  if (!done) return nullptr;
  return noted(native, decision, new_decision(decision, nullptr));
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
  if (may_be_greenlets(*native)) [[unlikely]] {
    PyObject* const decision = ask_greenlets(
        self, {operation, values[0], true, values[1], with_levels, values[3]});
    if (decision != Py_None) return decision;
    Py_DECREF(decision);
  }
  try {
    PathList paths;
    if (!paths.read(values[0], values[1], values[3])) return nullptr;
    if (with_levels) {
      return decide_with_levels(native, operation,
                                {paths.data(), paths.size()});
    }
    limitree_decision decision;
    const bool done =
        native->call([&](limitree_limiter* limiter, limitree_error** error) {
          return limitree_decide(limiter, operation, paths.data(), paths.size(),
                                 nullptr, 0, &decision, error);
        });
    if (!done) return nullptr;
    return noted(native, decision, new_decision(decision, nullptr));
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

// ask_greenlets() for the path "user", user, action.
PyObject* ask_greenlets_for_user(PyObject* self, PyObject* const* names,
                                 std::int64_t cost, bool levels) {
  PyObject* const root = PyUnicode_FromString("user");
  if (root == nullptr) return nullptr;
  const std::array path = {root, names[0], names[1]};
  PyObject* const decision =
      ask_greenlets(self, LIMITREE_AUTHORIZE, path, cost, levels);
  Py_DECREF(root);
  return decision;
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
  Options options = {.levels = native->with_levels()};
  limitree_str user;
  limitree_str action;
  if (!kSignature.place({args, count, names}, values.data()) ||
      !read_segment(values[0], "user", -1, &user) ||
      !read_segment(values[1], "action", -1, &action) ||
      !read_cost_and_levels(&values[2], &options)) {
    return nullptr;
  }
  if (may_be_greenlets(*native)) [[unlikely]] {
    PyObject* const decision = ask_greenlets_for_user(
        self, values.data(), options.cost, options.levels);
    if (decision == nullptr) return nullptr;
    PyObject* const denial =
        decision == Py_None ? nullptr : denial_or_none(decision);
    const bool decided = decision != Py_None;
    Py_DECREF(decision);
    if (decided) return denial;
  }
  if (options.levels) {
    const std::array path = {limitree_str{"user", 4}, user, action};
    const limitree_path one = {path.data(), path.size(), options.cost,
                               LIMITREE_PART_CHARGE};
    return decide_with_levels(native, LIMITREE_AUTHORIZE, {&one, 1},
                              Truth::kDenial);
  }
  limitree_decision decision;
  const bool done =
      native->call([&](limitree_limiter* limiter, limitree_error** error) {
        return limitree_authorize_action_for_user(
            limiter, user, action, options.cost, &decision, error);
      });
  if (!done) return nullptr;
  return noted(native, decision,
               decision.limited == 0
                   ? Py_NewRef(Py_None)
                   : new_decision(decision, nullptr, Truth::kDenial));
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
  const bool done =
      native->call([&](limitree_limiter* limiter, limitree_error** error) {
        return limitree_reset(limiter, path.data(), path.size(),
                              is_leaf ? 1 : 0, error);
      });
  if (!done) return nullptr;
  Py_RETURN_NONE;
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
           "A cost of 0 only looks.  Returns a Decision, allowed or not.\n"
           "Raises TypeError for a segment that is neither str nor bytes, "
           "ValueError for an\nempty path, an unknown first segment or a "
           "negative cost, OverflowError for a cost\nbeyond 64 bits, "
           "StoreError and StoreTimeout when the store fails."),
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
           "A list or tuple of costs has one for each path.  A bucket that "
           "several paths reach\nis charged once, with the largest cost.  "
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
