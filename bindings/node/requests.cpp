#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "native.hpp"
#include "segments.hpp"

namespace limitree::node {

namespace {

using Function = limitree_status(limitree_limiter*, const limitree_str*,
                                 std::size_t, std::int64_t, limitree_decision*,
                                 limitree_error**);

constexpr std::array<Function*, 4> kFunctions = {
    limitree_authorize, limitree_peek, limitree_spend, limitree_refund};
static_assert(LIMITREE_AUTHORIZE == 0 && LIMITREE_REFUND == 3);

// A row of paths.  Most requests have one, which needs no allocation.
class Paths {
 public:
  explicit Paths(const limitree_path& one) : one_(one) {}
  explicit Paths(std::vector<limitree_path> many) : many_(std::move(many)) {}

  const limitree_path* data() const {
    return many_.empty() ? &one_ : many_.data();
  }
  std::size_t size() const { return many_.empty() ? 1 : many_.size(); }

 private:
  limitree_path one_{};
  std::vector<limitree_path> many_;
};

// A request of JavaScript.
struct Request {
  // False: an error is thrown into JavaScript.
  bool read(napi_env env, napi_callback_info info);

  bool has_one_path() const { return path_count <= kOnePath; }

  bool wants_levels() const { return (flags & kWithLevels) != 0; }

  // What the general form of an operation takes.  Borrows from this object.
  Paths paths() const;
  std::vector<limitree_cost> costs() const;

  // How many segments at the end are names of units.
  std::size_t unit_count() const {
    if ((flags & kWithUnits) == 0) return 0;
    return static_cast<std::size_t>(numbers[kUnits]);
  }

  std::string place_of(std::size_t segment) const;
  bool refuse(limitree_status status, const std::string& message) const;

  Native* native = nullptr;
  double* numbers = nullptr;
  Segments segments;
  std::int32_t operation = 0;
  std::int64_t cost = 0;
  unsigned flags = 0;
  std::size_t path_count = kOnePath;  // in the array's form
};

bool Request::read(napi_env env, napi_callback_info info) {
  std::array<napi_value, 8> few;
  std::vector<napi_value> many;
  napi_value* values = few.data();
  std::size_t count = few.size();
  void* data = nullptr;
  napi_get_cb_info(env, info, &count, values, nullptr, &data);
  native = static_cast<Native*>(data);
  if (count > few.size()) {
    many.resize(count);
    values = many.data();
    napi_get_cb_info(env, info, &count, values, nullptr, nullptr);
  }
  if (native->is_closed()) {
    return refuse(LIMITREE_CANCELLED, "the limiter is closed");
  }
  numbers = native->environment().numbers();
  operation = static_cast<std::int32_t>(numbers[kOperation]);
  cost = static_cast<std::int64_t>(numbers[kCost]);
  flags = static_cast<unsigned>(numbers[kFlags]);
  path_count = static_cast<std::size_t>(numbers[kPaths]);
  const auto root = static_cast<std::size_t>(numbers[kRoot]);
  if (root != 0) segments.begin_with(native->roots().at(root));
  std::size_t index = 0;
  const char* const wrong = segments.read(env, values, count, &index);
  if (wrong != nullptr) {
    const std::size_t end = count + (root != 0 ? 1 : 0) - unit_count();
    const std::string place =
        index < end ? place_of(index) : "the name of a unit";
    return refuse(LIMITREE_INVALID_ARGUMENT, place + " " + wrong);
  }
  return true;
}

Paths Request::paths() const {
  if (has_one_path()) {
    return Paths({segments.data(), segments.size() - unit_count(), cost,
                  LIMITREE_PART_CHARGE});
  }
  std::vector<limitree_path> paths;
  const limitree_str* next = segments.data();
  const double* number = numbers + kInputSize;
  for (std::size_t i = kOnePath; i < path_count; ++i, number += kPathSize) {
    const auto size = static_cast<std::size_t>(number[kSegments]);
    paths.push_back({next, size, static_cast<std::int64_t>(number[kPathCost]),
                     static_cast<std::int32_t>(number[kPathPart])});
    next += size;
  }
  return Paths(std::move(paths));
}

std::vector<limitree_cost> Request::costs() const {
  std::vector<limitree_cost> costs;
  const std::size_t count = unit_count();
  const limitree_str* const names = segments.data() + segments.size() - count;
  for (std::size_t i = 0; i < count; ++i) {
    costs.push_back(
        {names[i], static_cast<std::int64_t>(numbers[kUnitCosts + i])});
  }
  return costs;
}

// The name of that segment in error messages: "path[1]".
std::string Request::place_of(std::size_t segment) const {
  if (path_count == kUserAndAction) {
    return segment == 1 ? "user" : "action";
  }
  const auto index = [](std::size_t i) {
    return "[" + std::to_string(i) + "]";
  };
  if (has_one_path()) return "path" + index(segment);
  std::size_t path = 0;
  for (;; ++path) {
    const auto size =
        static_cast<std::size_t>(numbers[kInputSize + kPathSize * path]);
    if (segment < size) break;
    segment -= size;
  }
  return "paths" + index(path) + index(segment);
}

bool Request::refuse(limitree_status status, const std::string& message) const {
  native->environment().raise(Error(status, {message}));
  return false;
}

// Returns undefined.
napi_value write(const Request& request, const limitree_decision& decision,
                 const limitree_level* levels) {
  double* const to = request.numbers + kInputSize;
  write_decision(decision, levels, &request.native->policies(), to);
  return nullptr;
}

napi_value decide(const Request& request) {
  limitree_limiter* const limiter = request.native->engine().get();
  limitree_decision decision;
  if (request.has_one_path() && request.flags == 0) {
    const Segments& path = request.segments;
    check(kFunctions[static_cast<std::size_t>(request.operation)], limiter,
          path.data(), path.size(), request.cost, &decision);
    return write(request, decision, nullptr);
  }
  std::array<limitree_level, kMaxLevels> levels;
  const Paths paths = request.paths();
  const std::vector<limitree_cost> costs = request.costs();
  limitree_level* const wanted =
      request.wants_levels() ? levels.data() : nullptr;
  check(limitree_decide_costs, limiter, request.operation, paths.data(),
        paths.size(), costs.data(), costs.size(), wanted,
        wanted == nullptr ? 0 : levels.size(), &decision);
  return write(request, decision, wanted);
}

napi_value start(const Request& request) {
  Native& native = *request.native;
  native.begin_request();
  auto pending = std::make_unique<Pending>();
  pending->slot = request.numbers[kSlot];
  std::size_t capacity = 0;
  if (request.wants_levels()) {
    pending->levels =
        std::make_unique_for_overwrite<limitree_level[]>(kMaxLevels);
    capacity = kMaxLevels;
  }
  const Paths paths = request.paths();
  const std::vector<limitree_cost> costs = request.costs();
  limitree_decision decision;
  limitree_error* error = nullptr;
  const limitree_status status = limitree_decide_costs_async(
      native.engine().get(), request.operation, paths.data(), paths.size(),
      costs.data(), costs.size(), pending.get(), pending->levels.get(),
      capacity, &decision, &error);
  const ErrorHandle owner(error);
  request.numbers[kPending] = status == LIMITREE_PENDING ? 1 : 0;
  if (status == LIMITREE_PENDING) {
    pending.release();
    native.send_soon();
    return nullptr;
  }
  native.end_request();
  if (status < 0) throw Error::from(status, error);
  return write(request, decision, pending->levels.get());
}

napi_value reset(const Request& request) {
  const Segments& path = request.segments;
  const std::int32_t leaf_only = request.cost == 0 ? 1 : 0;
  if (!request.native->is_remote()) {
    check(limitree_reset, request.native->engine().get(), path.data(),
          path.size(), leaf_only);
    return nullptr;
  }
  // The segments must outlive this call.
  std::vector<std::string> copy;
  for (std::size_t i = 0; i < path.size(); ++i) {
    copy.emplace_back(to_view(path.data()[i]));
  }
  return run_in_pool(*request.native,
                     [copy = std::move(copy), leaf_only](Engine& engine) {
                       const std::vector<limitree_str> segments = to_path(copy);
                       check(limitree_reset, engine.get(), segments.data(),
                             segments.size(), leaf_only);
                       return 0;
                     });
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
    return call.promise();
  }
  if (native.is_remote()) native.end_request();
  if (status < 0) throw Error::from(status, error);
  return call.answer(info.Env());
}

}  // namespace limitree::node
