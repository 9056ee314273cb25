// limitree_limiter: copies in, calls the core, copies out.

#include <string>

#include "base/inline_vector.hpp"
#include "convert.hpp"
#include "limiter/make_store.hpp"

using namespace limitree;
using namespace limitree::capi;

namespace {

// For one path without levels, the most common case.
template <Operation kOperation>
limitree_status decide_one(limitree_limiter* limiter, const limitree_str* path,
                           std::size_t path_size, std::int64_t cost,
                           limitree_decision* decision,
                           limitree_error** error) noexcept {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter", decision, "decision");
    Segments segments;
    append(path, path_size, &segments);
    Decision core;
    Status status = limiter->limiter.decide(
        kOperation, Path(segments.data(), path_size), cost, &core);
    if (status.ok()) fill(core, decision);
    return status;
  });
}

// Of all names that were put with LIMITREE_NO_FILES.
constexpr std::size_t kMaxForeignBytes = std::size_t{256} << 20;

Result<std::string> refuse_file(const std::string& /*path*/,
                                std::size_t /*most*/) {
  return Status(Code::kInvalidConfig, "no file can be named here");
}

}  // namespace

limitree_status limitree_limiter_new(const limitree_config* config,
                                     limitree_limiter** limiter,
                                     limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(config, "config", limiter, "limiter");
    Result<std::unique_ptr<Store>> store = make_store(config->options);
    if (!store.ok()) return std::move(store.status());
    auto shared =
        std::make_shared<SharedLimiter>(*config, std::move(store.value()));
    void* const user_data = shared->completion_data.get();
    *limiter = new limitree_limiter(std::move(shared), user_data);
    return {};
  });
}

limitree_status limitree_limiter_new_loop(limitree_limiter* limiter,
                                          void* user_data,
                                          limitree_limiter** other,
                                          limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter", other, "other");
    *other = new limitree_limiter(limiter->shared, user_data);
    return {};
  });
}

void limitree_limiter_free(limitree_limiter* limiter) { delete limiter; }

int32_t limitree_limiter_is_remote(const limitree_limiter* limiter) {
  return limiter != nullptr && limiter->limiter.is_remote() ? 1 : 0;
}

int32_t limitree_limiter_is_shared(const limitree_limiter* limiter) {
  return limiter != nullptr && limiter->limiter.is_shared() ? 1 : 0;
}

limitree_status limitree_limiter_reload(limitree_limiter* limiter,
                                        limitree_str yaml, limitree_str origin,
                                        limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter", yaml, "yaml.data", origin, "origin.data");
    Result<Tree> tree = load_tree(view(yaml), view(origin));
    if (!tree.ok()) return std::move(tree.status());
    return limiter->limiter.reload(tree.value());
  });
}

limitree_status limitree_limiter_reload_config(limitree_limiter* limiter,
                                               const limitree_config* config,
                                               limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter", config, "config");
    return limiter->limiter.reload(*config->tree, config->descriptors);
  });
}

limitree_status limitree_limiter_put(limitree_limiter* limiter,
                                     limitree_str name, limitree_str yaml,
                                     limitree_str origin, int32_t replace,
                                     limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter");
    const std::int32_t which = replace & ~LIMITREE_NO_FILES;
    if (which < LIMITREE_REPLACE_NONE || which > LIMITREE_REPLACE_ADDED) {
      return Status(Code::kInvalidArgument,
                    "unknown replace " + std::to_string(replace));
    }
    require(name, "name.data", yaml, "yaml.data", origin, "origin.data");
    const bool foreign = which != replace;
    const ReadFile read = foreign ? ReadFile(refuse_file) : read_file;
    Result<std::shared_ptr<Nodes>> root =
        load_root(view(name), {view(yaml), view(origin)}, read,
                  foreign ? kForeignText : TextBounds());
    if (!root.ok()) return std::move(root.status());
    return limiter->limiter.put(std::move(root.value()),
                                static_cast<Replace>(which),
                                foreign ? kMaxForeignBytes : SIZE_MAX);
  });
}

limitree_status limitree_limiter_remove(limitree_limiter* limiter,
                                        limitree_str name,
                                        limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter", name, "name.data");
    return limiter->limiter.remove(view(name));
  });
}

limitree_status limitree_authorize(limitree_limiter* limiter,
                                   const limitree_str* path, size_t path_size,
                                   int64_t cost, limitree_decision* decision,
                                   limitree_error** error) {
  return decide_one<Operation::kAuthorize>(limiter, path, path_size, cost,
                                           decision, error);
}

limitree_status limitree_authorize_action_for_user(
    limitree_limiter* limiter, limitree_str user, limitree_str action,
    int64_t cost, limitree_decision* decision, limitree_error** error) {
  const limitree_str path[] = {{"user", 4}, user, action};
  return decide_one<Operation::kAuthorize>(limiter, path, 3, cost, decision,
                                           error);
}

limitree_status limitree_peek(limitree_limiter* limiter,
                              const limitree_str* path, size_t path_size,
                              int64_t cost, limitree_decision* decision,
                              limitree_error** error) {
  return decide_one<Operation::kPeek>(limiter, path, path_size, cost, decision,
                                      error);
}

limitree_status limitree_spend(limitree_limiter* limiter,
                               const limitree_str* path, size_t path_size,
                               int64_t cost, limitree_decision* decision,
                               limitree_error** error) {
  return decide_one<Operation::kSpend>(limiter, path, path_size, cost, decision,
                                       error);
}

limitree_status limitree_refund(limitree_limiter* limiter,
                                const limitree_str* path, size_t path_size,
                                int64_t cost, limitree_decision* decision,
                                limitree_error** error) {
  return decide_one<Operation::kRefund>(limiter, path, path_size, cost,
                                        decision, error);
}

limitree_status limitree_reset(limitree_limiter* limiter,
                               const limitree_str* path, size_t path_size,
                               int32_t leaf_only, limitree_error** error) {
  return with_path(limiter, path, path_size, error, [&](Path segments) {
    return limiter->limiter.reset(
        segments, leaf_only != 0 ? Forget::kLeaf : Forget::kPath);
  });
}

limitree_status limitree_block(limitree_limiter* limiter,
                               const limitree_str* path, size_t path_size,
                               int64_t duration_ns, limitree_error** error) {
  return with_path(limiter, path, path_size, error, [&](Path segments) {
    return limiter->limiter.block(segments, Duration(duration_ns));
  });
}

limitree_status limitree_unblock(limitree_limiter* limiter,
                                 const limitree_str* path, size_t path_size,
                                 limitree_error** error) {
  return with_path(limiter, path, path_size, error, [&](Path segments) {
    return limiter->limiter.reset(segments, Forget::kBlock);
  });
}

limitree_status limitree_decide(limitree_limiter* limiter, int32_t operation,
                                const limitree_path* paths, size_t path_count,
                                limitree_level* levels, size_t level_capacity,
                                limitree_decision* decision,
                                limitree_error** error) {
  return limitree_decide_costs(limiter, operation, paths, path_count, nullptr,
                               0, levels, level_capacity, decision, error);
}

limitree_status limitree_decide_costs(
    limitree_limiter* limiter, int32_t operation, const limitree_path* paths,
    size_t path_count, const limitree_cost* costs, size_t cost_count,
    limitree_level* levels, size_t level_capacity, limitree_decision* decision,
    limitree_error** error) {
  return decide_now(
      limiter, static_cast<Operation>(operation), {levels, level_capacity},
      decision, error, [&](PathRequest* parsed) {
        Status bad = check_operation(operation);
        if (!bad.ok()) return bad;
        return parsed->read({paths, path_count}, {costs, cost_count});
      });
}

limitree_status limitree_set_pressure(limitree_limiter* limiter,
                                      double pressure, limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter");
    if (!(pressure >= 0 && pressure <= 1)) {  // NaN is neither
      return Status(
          Code::kInvalidArgument,
          "pressure must be from 0 to 1, is " + std::to_string(pressure));
    }
    // Rounded without a math library.
    const auto halves = static_cast<std::int32_t>(pressure * 2 * kFullPressure);
    limiter->limiter.set_pressure((halves + 1) / 2);
    return {};
  });
}
