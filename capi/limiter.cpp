// limitree_limiter: copying in, calling the core, copying out.

#include <algorithm>
#include <span>

#include "base/inline_vector.hpp"
#include "handles.hpp"

using limitree::Ask;
using limitree::Code;
using limitree::Decision;
using limitree::LevelReport;
using limitree::LevelReports;
using limitree::Mode;
using limitree::Operation;
using limitree::Path;
using limitree::Result;
using limitree::Status;
using limitree::Tree;
using limitree::capi::guarded;
using limitree::capi::null_argument;

static_assert(sizeof(limitree_decision) == 80);
static_assert(sizeof(void*) != 8 || sizeof(limitree_level) == 128);
static_assert(sizeof(limitree_stats) == 256);
static_assert(sizeof(void*) != 8 || sizeof(limitree_limit_stats) == 128);
static_assert(LIMITREE_AUTHORIZE == static_cast<int>(Operation::kAuthorize));
static_assert(LIMITREE_PEEK == static_cast<int>(Operation::kPeek));
static_assert(LIMITREE_SPEND == static_cast<int>(Operation::kSpend));
static_assert(LIMITREE_REFUND == static_cast<int>(Operation::kRefund));
static_assert(LIMITREE_ENFORCE == static_cast<int>(Mode::kEnforce));
static_assert(LIMITREE_SHADOW == static_cast<int>(Mode::kShadow));
static_assert(LIMITREE_CHECK == static_cast<int>(Mode::kCheck));

namespace {

using Segments = limitree::InlineVector<std::string_view, 12>;

// Appends what a C caller passed as one path.
Status append(const limitree_str* path, std::size_t size, Segments* segments) {
  if (path == nullptr && size != 0) return null_argument("path");
  for (std::size_t i = 0; i < size; ++i) {
    if (path[i].data == nullptr && path[i].size != 0) {
      return null_argument("segment.data");
    }
    segments->emplace_back(path[i].data, path[i].size);
  }
  return {};
}

std::uint32_t flags_of(const Decision& decision) {
  std::uint32_t flags = 0;
  if (decision.unlimited) flags |= LIMITREE_UNLIMITED;
  if (decision.shadowed) flags |= LIMITREE_SHADOWED;
  return flags;
}

// Field by field into the caller's memory: a copy of the whole, right after its
// parts were written, stalls.
void fill(const Decision& decision, limitree_decision* out) {
  out->limit = decision.limit;
  out->remaining = decision.remaining;
  out->retry_after_ns = decision.retry_after.count();
  out->reset_after_ns = decision.reset_after.count();
  out->next_after_ns = decision.next_after.count();
  out->limited = decision.limited ? 1 : 0;
  out->flags = flags_of(decision);
  out->level = decision.binding;
  out->level_count = decision.level_count;
  for (std::int64_t& field : out->reserved) field = 0;
}

limitree_level to_c(const LevelReport& report) {
  limitree_level out{};
  out.policy = {report.policy.data(), report.policy.size()};
  out.limit = report.rate.capacity;
  out.remaining = report.verdict.remaining;
  out.retry_after_ns = report.verdict.retry_after.count();
  out.reset_after_ns = report.verdict.reset_after.count();
  out.next_after_ns = report.verdict.next_after.count();
  out.window_ns = report.rate.burst_offset().count();
  out.cost = report.cost;
  out.limited = report.verdict.limited ? 1 : 0;
  out.charged = report.verdict.charged ? 1 : 0;
  out.mode = static_cast<std::int32_t>(report.mode);
  out.path = static_cast<std::int32_t>(report.path);
  return out;
}

Status check(const limitree_limiter* limiter,
             const limitree_decision* decision) {
  if (limiter == nullptr) return null_argument("limiter");
  if (decision == nullptr) return null_argument("decision");
  return {};
}

// Where a caller wants the verdicts of levels.
struct Levels {
  limitree_level* data = nullptr;
  std::size_t capacity = 0;
};

Status decide(limitree_limiter* limiter, Operation operation,
              std::span<const limitree_path> paths, Levels levels,
              limitree_decision* decision) {
  if (Status status = check(limiter, decision); !status.ok()) return status;
  if (paths.empty()) {
    return Status(Code::kInvalidArgument, "at least one path is needed");
  }
  Segments segments;
  for (const limitree_path& path : paths) {
    Status status = append(path.segments, path.size, &segments);
    if (!status.ok()) return status;
  }
  // Only now, for the segments moved while they grew.
  limitree::InlineVector<Ask, 4> asks;
  const std::string_view* next = segments.data();
  for (const limitree_path& path : paths) {
    asks.emplace_back(Path(next, path.size), path.cost);
    next += path.size;
  }

  const bool wants_levels = levels.data != nullptr && levels.capacity != 0;
  LevelReports reports;
  Decision core;
  Status status =
      limiter->limiter.decide(operation, {asks.data(), asks.size()},
                              wants_levels ? &reports : nullptr, &core);
  if (!status.ok()) return status;
  fill(core, decision);
  for (std::size_t i = 0; i < std::min(reports.size(), levels.capacity); ++i) {
    levels.data[i] = to_c(reports[i]);
  }
  return {};
}

// The same for one path and no levels, which is what most callers want.
limitree_status decide_one(limitree_limiter* limiter, Operation operation,
                           const limitree_str* path, std::size_t path_size,
                           std::int64_t cost, limitree_decision* decision,
                           limitree_error** error) noexcept {
  return guarded(error, [&]() -> Status {
    if (Status status = check(limiter, decision); !status.ok()) return status;
    Segments segments;
    if (Status status = append(path, path_size, &segments); !status.ok()) {
      return status;
    }
    const Ask ask{Path(segments.data(), path_size), cost};
    Decision core;
    Status status =
        limiter->limiter.decide(operation, {&ask, 1}, nullptr, &core);
    if (status.ok()) fill(core, decision);
    return status;
  });
}

limitree_text* text_of(std::string text) {
  return new limitree_text{std::move(text)};
}

}  // namespace

limitree_status limitree_limiter_new(const limitree_config* config,
                                     limitree_limiter** limiter,
                                     limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (config == nullptr) return null_argument("config");
    if (limiter == nullptr) return null_argument("limiter");
    *limiter = new limitree_limiter(*config);
    return {};
  });
}

void limitree_limiter_free(limitree_limiter* limiter) { delete limiter; }

limitree_status limitree_limiter_reload(limitree_limiter* limiter,
                                        limitree_str yaml, limitree_str origin,
                                        limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    Result<Tree> tree = limitree::capi::load(yaml, origin);
    if (!tree.ok()) return std::move(tree.status());
    limiter->limiter.reload(
        std::make_shared<const Tree>(std::move(tree.value())));
    return {};
  });
}

limitree_status limitree_authorize(limitree_limiter* limiter,
                                   const limitree_str* path, size_t path_size,
                                   int64_t cost, limitree_decision* decision,
                                   limitree_error** error) {
  return decide_one(limiter, Operation::kAuthorize, path, path_size, cost,
                    decision, error);
}

limitree_status limitree_authorize_action_for_user(
    limitree_limiter* limiter, limitree_str user, limitree_str action,
    int64_t cost, limitree_decision* decision, limitree_error** error) {
  const limitree_str path[] = {{"user", 4}, user, action};
  return decide_one(limiter, Operation::kAuthorize, path, 3, cost, decision,
                    error);
}

limitree_status limitree_peek(limitree_limiter* limiter,
                              const limitree_str* path, size_t path_size,
                              int64_t cost, limitree_decision* decision,
                              limitree_error** error) {
  return decide_one(limiter, Operation::kPeek, path, path_size, cost, decision,
                    error);
}

limitree_status limitree_spend(limitree_limiter* limiter,
                               const limitree_str* path, size_t path_size,
                               int64_t cost, limitree_decision* decision,
                               limitree_error** error) {
  return decide_one(limiter, Operation::kSpend, path, path_size, cost, decision,
                    error);
}

limitree_status limitree_refund(limitree_limiter* limiter,
                                const limitree_str* path, size_t path_size,
                                int64_t cost, limitree_decision* decision,
                                limitree_error** error) {
  return decide_one(limiter, Operation::kRefund, path, path_size, cost,
                    decision, error);
}

limitree_status limitree_reset(limitree_limiter* limiter,
                               const limitree_str* path, size_t path_size,
                               int32_t leaf_only, limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    Segments segments;
    Status status = append(path, path_size, &segments);
    if (!status.ok()) return status;
    return limiter->limiter.reset(Path(segments.data(), path_size),
                                  leaf_only != 0);
  });
}

limitree_status limitree_decide(limitree_limiter* limiter, int32_t operation,
                                const limitree_path* paths, size_t path_count,
                                limitree_level* levels, size_t level_capacity,
                                limitree_decision* decision,
                                limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (operation < LIMITREE_AUTHORIZE || operation > LIMITREE_REFUND) {
      return Status(Code::kInvalidArgument,
                    "no operation " + std::to_string(operation));
    }
    if (paths == nullptr && path_count != 0) return null_argument("paths");
    return decide(limiter, static_cast<Operation>(operation),
                  {paths, path_count}, {levels, level_capacity}, decision);
  });
}

limitree_status limitree_authorize_all(limitree_limiter* limiter,
                                       const limitree_path* paths,
                                       size_t path_count,
                                       limitree_decision* decision,
                                       limitree_error** error) {
  return limitree_decide(limiter, LIMITREE_AUTHORIZE, paths, path_count,
                         nullptr, 0, decision, error);
}

// The memory store, which is the only one so far, answers at once: there is
// never anything pending, so `request` goes unused.

limitree_status limitree_authorize_async(limitree_limiter* limiter,
                                         const limitree_str* path,
                                         size_t path_size, int64_t cost,
                                         void* /*request*/,
                                         limitree_decision* decision,
                                         limitree_error** error) {
  return limitree_authorize(limiter, path, path_size, cost, decision, error);
}

limitree_status limitree_decide_async(
    limitree_limiter* limiter, int32_t operation, const limitree_path* paths,
    size_t path_count, void* /*request*/, limitree_level* levels,
    size_t level_capacity, limitree_decision* decision,
    limitree_error** error) {
  return limitree_decide(limiter, operation, paths, path_count, levels,
                         level_capacity, decision, error);
}

int limitree_loop_fd(limitree_limiter* /*limiter*/) { return -1; }

void limitree_loop_run(limitree_limiter* /*limiter*/) {}

limitree_status limitree_limiter_stats(limitree_limiter* limiter,
                                       limitree_stats* stats,
                                       limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (stats == nullptr) return null_argument("stats");
    const limitree::LimiterStats core = limiter->limiter.stats();
    *stats = {};
    stats->allowed = core.totals.allowed;
    stats->limited = core.totals.limited;
    stats->shadow_limited = core.totals.shadow_limited;
    stats->errors = core.totals.errors;
    stats->reloads = core.reloads;
    stats->limits = core.limits;
    stats->buckets = core.store.buckets;
    stats->max_buckets = core.store.max_buckets;
    stats->store_bytes = core.store.bytes;
    stats->evictions = core.store.evictions;
    return {};
  });
}

limitree_status limitree_limiter_limit_stats(limitree_limiter* limiter,
                                             limitree_limit_stats* stats,
                                             size_t capacity, size_t* count,
                                             limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (stats == nullptr && capacity != 0) return null_argument("stats");
    if (count == nullptr) return null_argument("count");
    const auto all = limiter->limiter.policy_stats();
    *count = all.size();
    for (std::size_t i = 0; i < std::min(all.size(), capacity); ++i) {
      stats[i] = {};
      stats[i].policy = {all[i].policy.data(), all[i].policy.size()};
      stats[i].allowed = all[i].tally.allowed;
      stats[i].limited = all[i].tally.limited;
      stats[i].shadow_limited = all[i].tally.shadow_limited;
      stats[i].near_limit = all[i].tally.near_limit;
    }
    return {};
  });
}

limitree_status limitree_limiter_describe(limitree_limiter* limiter,
                                          limitree_text** text,
                                          limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (text == nullptr) return null_argument("text");
    *text = text_of(limiter->limiter.describe());
    return {};
  });
}

limitree_status limitree_limiter_explain(limitree_limiter* limiter,
                                         const limitree_str* path,
                                         size_t path_size, limitree_text** text,
                                         limitree_error** error) {
  return guarded(error, [&]() -> Status {
    if (limiter == nullptr) return null_argument("limiter");
    if (text == nullptr) return null_argument("text");
    Segments segments;
    Status status = append(path, path_size, &segments);
    if (!status.ok()) return status;
    Result<std::string> explained =
        limiter->limiter.explain(Path(segments.data(), path_size));
    if (!explained.ok()) return std::move(explained.status());
    *text = text_of(std::move(explained.value()));
    return {};
  });
}
