#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
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

// Forgets, or blocks, as kCost says.  The decision means nothing.
limitree_status forget(const Request& request, const Room& room,
                       limitree_error** error) {
  limitree_limiter* const limiter = request.limiter();
  const limitree_str* const path = request.segments.data();
  const std::size_t size = request.segments.size();
  const auto ns = static_cast<std::int64_t>(request.numbers[kHoldNs]);
  const bool waits = room.pending == nullptr;
  *room.decision = {};
  if (request.cost == kBlock) {
    return waits ? limitree_block(limiter, path, size, ns, error)
                 : limitree_block_async(limiter, path, size, ns, room.pending,
                                        error);
  }
  if (request.cost == kUnblock) {
    return waits ? limitree_unblock(limiter, path, size, error)
                 : limitree_unblock_async(limiter, path, size, room.pending,
                                          error);
  }
  const std::int32_t leaf = request.cost == kLastNode ? 1 : 0;
  return waits ? limitree_reset(limiter, path, size, leaf, error)
               : limitree_reset_async(limiter, path, size, leaf, room.pending,
                                      error);
}

// Asks about a request of any form.  *receipt becomes that of a reservation,
// which JavaScript gets.
limitree_status ask(const Request& request, const Room& room,
                    napi_value* receipt, limitree_error** error) {
  if (request.operation == kForget) return forget(request, room, error);
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
      request.operation < kForget) {
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
