#include <memory>

#include "arguments.hpp"
#include "compat.hpp"
#include "decision.hpp"
#include "envoy.hpp"
#include "errors.hpp"
#include "hold.hpp"
#include "module.hpp"
#include "path_list.hpp"

namespace py = pybind11;

namespace limitree::python {

namespace {

// A pending request.  The library owns it from PENDING to its completion.
struct Pending {
  py::object future;
  std::unique_ptr<limitree_level[]> levels;  // null: not wanted
  std::unique_ptr<EnvoyCall> envoy;          // null: a Decision is wanted
};

py::object decision_of(const limitree_decision& decision,
                       const Pending& pending) {
  PyObject* levels = nullptr;
  if (pending.levels != nullptr) {
    levels = new_levels(pending.levels.get(), decision.level_count);
    require(levels != nullptr);
  }
  auto made = py::reinterpret_steal<py::object>(new_decision(decision, levels));
  require(static_cast<bool>(made));
  return made;
}

std::uint32_t flags_of(const limitree_completion& completion) {
  if (completion.status != LIMITREE_OK) return 0;
  const auto& pending = *static_cast<const Pending*>(completion.request);
  return pending.envoy != nullptr ? pending.envoy->response()->flags
                                  : completion.decision.flags;
}

// The result for a future: (future, answer or None, exception or None).
py::tuple answer_of(const limitree_completion& completion) {
  const std::unique_ptr<Pending> pending(
      static_cast<Pending*>(completion.request));
  py::object decision = py::none();
  py::object failure = py::none();
  if (completion.status == LIMITREE_OK) {
    decision = pending->envoy != nullptr
                   ? pending->envoy->answer()
                   : decision_of(completion.decision, *pending);
  } else {
    failure = exception_of(Error::from(completion.status, completion.error));
  }
  return py::make_tuple(pending->future, decision, failure);
}

void deliver(const limitree_completion* completions, std::size_t count) {
  if (is_finalizing()) {  // no loop runs, and nothing can be imported
    for (std::size_t i = 0; i < count; ++i) {
      delete static_cast<Pending*>(completions[i].request);
    }
    return;
  }
  py::list batch;
  for (std::size_t i = 0; i < count; ++i) {
    batch.append(answer_of(completions[i]));
  }
  py::module_::import("limitree.delivery").attr("deliver")(batch);
}

// Calls `function`, which starts *pending.  Returns whether the answer comes
// later.
template <typename Function, typename... Arguments>
bool start(Native& native, std::unique_ptr<Pending>* pending,
           Function&& function, Arguments... arguments) {
  native.begin_pending();  // it may complete before the call returns
  const limitree_status status = native.call_at_once(function, arguments...);
  if (status == LIMITREE_PENDING) {
    (void)pending->release();  // the completion frees it
    return true;
  }
  native.end_pending();
  require(status >= 0);
  return false;
}

// Where a call leaves its answer.
struct Place {
  void* request;  // null: the call waits for the answer
  limitree_level* levels;
  std::size_t capacity;
  limitree_decision* decision;
};

// Returns the Decision of `call(limiter, place, error)`, or the result of
// `make_future()` if that is not None and the answer comes later.
template <typename Call>
py::object ask(Native& native, bool with_levels, const py::object& make_future,
               const Call& call) {
  auto pending = std::make_unique<Pending>();
  const std::size_t capacity = with_levels ? kMaxLevels : 0;
  if (with_levels) {
    pending->levels =
        std::make_unique_for_overwrite<limitree_level[]>(capacity);
  }
  limitree_decision decision;
  Place place = {nullptr, pending->levels.get(), capacity, &decision};
  if (make_future.is_none()) {
    native.run(call, place);
  } else {
    py::object future = make_future();
    pending->future = future;
    place.request = pending.get();
    if (start(native, &pending, call, place)) return future;
  }
  py::object made = decision_of(decision, *pending);
  native.noted(decision.flags);
  return made;
}

// A `call` for ask() without levels: `now`, or `later` if the answer may come
// later, with the same first arguments.
template <typename Now, typename Later, typename... Arguments>
auto either(Now* now, Later* later, Arguments... arguments) {
  return [=](limitree_limiter* limiter, const Place& to,
             limitree_error** error) {
    return to.request == nullptr
               ? now(limiter, arguments..., to.decision, error)
               : later(limiter, arguments..., to.request, to.decision, error);
  };
}

bool wants_levels(const Native& native, const py::object& levels) {
  bool wanted = native.with_levels();
  require(read_switch(levels.ptr(), "levels", &wanted));
  return wanted;
}

}  // namespace

py::object start(Native& native, std::int32_t operation,
                 const py::object& paths, bool several, const py::object& cost,
                 const py::object& levels, const py::object& make_future,
                 const py::object& part) {
  PathList list;
  if (several) {
    require(list.read(paths.ptr(), cost.ptr(), part.ptr()));
  } else {
    require(list.read_one(paths.ptr(), cost.ptr()));
  }
  return ask(
      native, wants_levels(native, levels), make_future,
      [&](limitree_limiter* limiter, const Place& to, limitree_error** error) {
        return limitree_decide_costs_async(
            limiter, operation, list.data(), list.size(), list.units().data(),
            list.units().size(), to.request, to.levels, to.capacity,
            to.decision, error);
      });
}

py::object reserve(Native& native, Hold& hold, std::int64_t hold_ns,
                   const py::object& levels, const py::object& make_future) {
  const auto paths = hold.paths();
  const auto units = hold.units();
  return ask(
      native, wants_levels(native, levels), make_future,
      [&](limitree_limiter* limiter, const Place& to, limitree_error** error) {
        if (to.request == nullptr) {
          return limitree_reserve(
              limiter, paths.data(), paths.size(), units.data(), units.size(),
              hold_ns, hold.id(), to.levels, to.capacity, to.decision, error);
        }
        return limitree_reserve_async(limiter, paths.data(), paths.size(),
                                      units.data(), units.size(), hold_ns,
                                      hold.id(), to.request, to.levels,
                                      to.capacity, to.decision, error);
      });
}

py::object settle(Native& native, Hold& hold, const py::object& cost,
                  const py::object& make_future) {
  const Usage usage = hold.usage(cost);
  const auto& paths = usage.paths;
  const auto units = usage.units.others();
  return ask(native, false, make_future,
             either(limitree_settle, limitree_settle_async, hold.id(),
                    paths.data(), paths.size(), units.data(), units.size()));
}

py::object cancel(Native& native, Hold& hold, const py::object& make_future) {
  const auto paths = hold.paths();
  return ask(native, false, make_future,
             either(limitree_cancel, limitree_cancel_async, hold.id(),
                    paths.data(), paths.size()));
}

py::object extend(Native& native, Hold& hold, std::int64_t hold_ns,
                  const py::object& make_future) {
  const auto paths = hold.paths();
  return ask(native, false, make_future,
             either(limitree_extend, limitree_extend_async, hold.id(),
                    paths.data(), paths.size(), hold_ns));
}

py::object start_envoy(Native& native, const py::object& domain,
                       const py::list& descriptors, std::uint32_t hits_addend,
                       std::uint32_t flags, const py::object& make_future) {
  auto pending = std::make_unique<Pending>();
  pending->envoy =
      std::make_unique<EnvoyCall>(domain, descriptors, hits_addend, flags);
  py::object future = make_future();
  pending->future = future;
  EnvoyCall& one = *pending->envoy;
  if (start(native, &pending, limitree_should_rate_limit_async, one.request(),
            pending.get(), one.statuses(), one.count(), one.response())) {
    return future;
  }
  py::tuple answer = one.answer();
  native.noted(one.response()->flags);
  return answer;
}

void complete(const limitree_completion* completions, std::size_t count,
              void* user_data) noexcept {
  auto* const native = static_cast<Native*>(user_data);
  for (std::size_t i = 0; i < count; ++i) {
    native->end_pending();
    native->note(flags_of(completions[i]));
  }
  const py::error_scope error_of_caller;  // which may be set already
  try {
    deliver(completions, count);
  } catch (py::error_already_set& failure) {
    try {
      failure.discard_as_unraisable("limitree: answers of the store");
    } catch (...) {
      PySys_WriteStderr("limitree: answers of the store are lost\n");
    }
  } catch (const std::exception& failure) {
    PySys_WriteStderr("limitree: answers of the store: %s\n", failure.what());
  }
}

}  // namespace limitree::python
