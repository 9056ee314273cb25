#include <array>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "holds.hpp"
#include "native.hpp"
#include "request.hpp"
#include "segments.hpp"

namespace limitree::node {

namespace {

using Function = limitree_status(limitree_limiter*, const limitree_str*,
                                 std::size_t, std::int64_t, limitree_decision*,
                                 limitree_error**);

constexpr std::array<Function*, 4> kFunctions = {
    limitree_authorize, limitree_peek, limitree_spend, limitree_refund};
static_assert(LIMITREE_AUTHORIZE == 0 && LIMITREE_REFUND == 3);

void write(const Request& request, const limitree_decision& decision,
           const limitree_level* levels) {
  double* const to = request.numbers + kInputSize;
  write_decision(decision, levels, &request.native->policies(), to);
}

// Asks about a request of any form.  *receipt becomes that of a reservation,
// which JavaScript gets.
limitree_status ask(const Request& request, const Room& room,
                    napi_value* receipt, limitree_error** error) {
  if (request.operation >= kReserve) {
    return ask_for_hold(request, room, receipt, error);
  }
  const Paths paths = request.paths();
  const std::vector<limitree_cost> costs = request.costs();
  if (room.pending == nullptr) {
    return limitree_decide_costs(request.limiter(), request.operation,
                                 paths.data(), paths.size(), costs.data(),
                                 costs.size(), room.levels, room.level_capacity,
                                 room.decision, error);
  }
  return limitree_decide_costs_async(request.limiter(), request.operation,
                                     paths.data(), paths.size(), costs.data(),
                                     costs.size(), room.pending, room.levels,
                                     room.level_capacity, room.decision, error);
}

napi_value decide(const Request& request) {
  limitree_decision decision;
  if (request.has_one_path() && request.flags == 0 &&
      request.operation < kReserve) {
    const Segments& path = request.segments;
    check(kFunctions[static_cast<std::size_t>(request.operation)],
          request.limiter(), path.data(), path.size(), request.cost, &decision);
    write(request, decision, nullptr);
    return nullptr;
  }
  std::array<limitree_level, kMaxLevels> levels;
  Room room{.decision = &decision};
  if (request.wants_levels()) {
    room.levels = levels.data();
    room.level_capacity = levels.size();
  }
  napi_value receipt = nullptr;
  check([&](limitree_error** error) {
    return ask(request, room, &receipt, error);
  });
  write(request, decision, room.levels);
  return receipt;
}

napi_value start(const Request& request) {
  Native& native = *request.native;
  auto pending = std::make_unique<Pending>();
  pending->slot = request.numbers[kSlot];
  limitree_decision decision;
  Room room{.pending = pending.get(), .decision = &decision};
  if (request.wants_levels()) {
    pending->levels =
        std::make_unique_for_overwrite<limitree_level[]>(kMaxLevels);
    room.levels = pending->levels.get();
    room.level_capacity = kMaxLevels;
  }
  native.begin_request();
  napi_value receipt = nullptr;
  limitree_error* error = nullptr;
  limitree_status status = LIMITREE_OK;
  try {
    status = ask(request, room, &receipt, &error);
  } catch (...) {  // without memory: nothing was asked
    native.end_request();
    throw;
  }
  const ErrorHandle owner(error);
  request.numbers[kPending] = status == LIMITREE_PENDING ? 1 : 0;
  if (status == LIMITREE_PENDING) {
    (void)pending.release();  // until its delivery
    native.send_soon();
    return receipt;
  }
  native.end_request();
  if (status < 0) throw Error::from(status, error);
  write(request, decision, room.levels);
  return receipt;
}

// What reset() does, by kCost.
limitree_status forget(std::int64_t what, limitree_limiter* limiter,
                       const limitree_str* path, std::size_t size,
                       std::int64_t duration_ns, limitree_error** error) {
  if (what == kBlock) {
    return limitree_block(limiter, path, size, duration_ns, error);
  }
  if (what == kUnblock) return limitree_unblock(limiter, path, size, error);
  return limitree_reset(limiter, path, size, what == kLastNode ? 1 : 0, error);
}

napi_value reset(const Request& request) {
  const Segments& path = request.segments;
  const std::int64_t what = request.cost;
  const auto ns = static_cast<std::int64_t>(request.numbers[kHoldNs]);
  if (!request.native->is_remote()) {
    check([&](limitree_error** error) {
      return forget(what, request.limiter(), path.data(), path.size(), ns,
                    error);
    });
    return nullptr;
  }
  // The segments must outlive this call.
  std::vector<std::string> copy;
  for (std::size_t i = 0; i < path.size(); ++i) {
    copy.emplace_back(to_view(path.data()[i]));
  }
  return run_in_pool(*request.native,
                     [copy = std::move(copy), what, ns](Engine& engine) {
                       const std::vector<limitree_str> segments = to_path(copy);
                       check([&](limitree_error** error) {
                         return forget(what, engine.get(), segments.data(),
                                       segments.size(), ns, error);
                       });
                       return 0;
                     });
}

napi_value explain(const Request& request) {
  const Native& native = *request.native;
  const Segments& path = request.segments;
  const Text text =
      native.engine().limiter().explain({path.data(), path.size()});
  return to_string(native.environment().env(), text.view());
}

// Runs kCall(request), and handles all exceptions.
template <napi_value (*kCall)(const Request&)>
napi_value guarded(napi_env env, napi_callback_info info) {
  Request request;
  try {
    if (!request.read(env, info)) return nullptr;
    Native& native = *request.native;
    native.engine().set_now(native.environment().now_ns());
    return kCall(request);
  } catch (const Napi::Error& failure) {
    failure.ThrowAsJavaScriptException();
  } catch (const Error& error) {
    request.native->environment().raise(error);
  } catch (const std::bad_alloc&) {
    request.native->environment().raise(out_of_memory());
  }
  return nullptr;
}

}  // namespace

napi_value decide(napi_env env, napi_callback_info info) {
  return guarded<decide>(env, info);
}

napi_value start(napi_env env, napi_callback_info info) {
  return guarded<start>(env, info);
}

napi_value reset(napi_env env, napi_callback_info info) {
  return guarded<reset>(env, info);
}

napi_value explain(napi_env env, napi_callback_info info) {
  return guarded<explain>(env, info);
}

Napi::Value should_rate_limit(Native& native, const Napi::CallbackInfo& info) {
  auto pending = std::make_unique<Pending>();
  pending->envoy = std::make_unique<EnvoyCall>(info);
  EnvoyCall& call = *pending->envoy;
  native.engine().set_now(native.environment().now_ns());
  if (native.is_remote()) native.begin_request();
  limitree_error* error = nullptr;
  const limitree_status status =
      call.ask(native.engine().get(), pending.get(), &error);
  const ErrorHandle owner(error);
  if (status == LIMITREE_PENDING) {
    (void)pending.release();  // until its delivery
    native.send_soon();
    return call.begin(info.Env());
  }
  if (native.is_remote()) native.end_request();
  if (status < 0) throw Error::from(status, error);
  return call.answer(info.Env());
}

}  // namespace limitree::node
