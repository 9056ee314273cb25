// Reservations, and receipts of them.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "convert.hpp"
#include "limiter/receipt.hpp"

using namespace limitree;
using namespace limitree::capi;

static_assert(sizeof(limitree_hold) == 32);
static_assert(LIMITREE_AS_HELD == kAsHeld);
static_assert(LIMITREE_MAX_HOLD_NS == Duration(kMaxHold).count());
static_assert(LIMITREE_MAX_HOLDS == kMaxHolds);

struct limitree_receipt {
  explicit limitree_receipt(Receipt read) : receipt(std::move(read)) {}

  Receipt receipt;
  limitree_hold hold{};
  std::vector<limitree_str> segments = {};
  std::vector<limitree_path> paths = {};
};

namespace {

limitree_status decide(limitree_limiter* limiter, const HoldCall& call,
                       const Levels& levels, limitree_decision* decision,
                       limitree_error** error) noexcept {
  return decide_now(limiter, call.operation, levels, decision, error,
                    [&](PathRequest* parsed) {
                      require(call.hold, "hold");
                      return parsed->read(call);
                    });
}

// Calls `decides` with a new id, which goes to *hold if the store may hold.
template <typename Decides>
limitree_status with_new_id(limitree_limiter* limiter, limitree_hold* hold,
                            Decides&& decides) noexcept {
  limitree_hold made{};
  if (limiter != nullptr) {
    const HoldId id = limiter->limiter.new_hold_id();
    made = {{id.high, id.low}, {0, 0}};
  }
  const limitree_status status = decides(hold == nullptr ? nullptr : &made);
  const bool may_hold =
      status >= LIMITREE_OK || status == LIMITREE_STORE_TIMEOUT;
  if (may_hold && hold != nullptr) *hold = made;
  return status;
}

HoldCall settlement(const limitree_hold* hold, const limitree_path* paths,
                    std::size_t path_count, const limitree_cost* costs,
                    std::size_t cost_count) {
  return {Operation::kSettle, hold, {paths, path_count}, {costs, cost_count}};
}

HoldCall cancellation(const limitree_hold* hold, const limitree_path* paths,
                      std::size_t path_count) {
  return {Operation::kSettle, hold, {paths, path_count}, {}, 0, true};
}

HoldCall extension(const limitree_hold* hold, const limitree_path* paths,
                   std::size_t path_count, std::int64_t hold_ns) {
  return {Operation::kExtend, hold, {paths, path_count}, {}, hold_ns};
}

}  // namespace

limitree_status limitree_reserve(limitree_limiter* limiter,
                                 const limitree_path* paths, size_t path_count,
                                 const limitree_cost* costs, size_t cost_count,
                                 int64_t hold_ns, limitree_hold* hold,
                                 limitree_level* levels, size_t level_capacity,
                                 limitree_decision* decision,
                                 limitree_error** error) {
  return with_new_id(limiter, hold, [&](const limitree_hold* made) {
    return decide(limiter,
                  {Operation::kReserve,
                   made,
                   {paths, path_count},
                   {costs, cost_count},
                   hold_ns},
                  {levels, level_capacity}, decision, error);
  });
}

limitree_status limitree_settle(limitree_limiter* limiter,
                                const limitree_hold* hold,
                                const limitree_path* paths, size_t path_count,
                                const limitree_cost* costs, size_t cost_count,
                                limitree_decision* decision,
                                limitree_error** error) {
  return decide(limiter, settlement(hold, paths, path_count, costs, cost_count),
                {}, decision, error);
}

limitree_status limitree_cancel(limitree_limiter* limiter,
                                const limitree_hold* hold,
                                const limitree_path* paths, size_t path_count,
                                limitree_decision* decision,
                                limitree_error** error) {
  return decide(limiter, cancellation(hold, paths, path_count), {}, decision,
                error);
}

limitree_status limitree_extend(limitree_limiter* limiter,
                                const limitree_hold* hold,
                                const limitree_path* paths, size_t path_count,
                                int64_t hold_ns, limitree_decision* decision,
                                limitree_error** error) {
  return decide(limiter, extension(hold, paths, path_count, hold_ns), {},
                decision, error);
}

limitree_status limitree_reserve_async(
    limitree_limiter* limiter, const limitree_path* paths, size_t path_count,
    const limitree_cost* costs, size_t cost_count, int64_t hold_ns,
    limitree_hold* hold, void* request, limitree_level* levels,
    size_t level_capacity, limitree_decision* decision,
    limitree_error** error) {
  return with_new_id(limiter, hold, [&](const limitree_hold* made) {
    return start_hold(limiter,
                      {Operation::kReserve,
                       made,
                       {paths, path_count},
                       {costs, cost_count},
                       hold_ns},
                      request, {levels, level_capacity}, decision, error);
  });
}

limitree_status limitree_settle_async(
    limitree_limiter* limiter, const limitree_hold* hold,
    const limitree_path* paths, size_t path_count, const limitree_cost* costs,
    size_t cost_count, void* request, limitree_decision* decision,
    limitree_error** error) {
  return start_hold(limiter,
                    settlement(hold, paths, path_count, costs, cost_count),
                    request, {}, decision, error);
}

limitree_status limitree_cancel_async(limitree_limiter* limiter,
                                      const limitree_hold* hold,
                                      const limitree_path* paths,
                                      size_t path_count, void* request,
                                      limitree_decision* decision,
                                      limitree_error** error) {
  return start_hold(limiter, cancellation(hold, paths, path_count), request, {},
                    decision, error);
}

limitree_status limitree_extend_async(
    limitree_limiter* limiter, const limitree_hold* hold,
    const limitree_path* paths, size_t path_count, int64_t hold_ns,
    void* request, limitree_decision* decision, limitree_error** error) {
  return start_hold(limiter, extension(hold, paths, path_count, hold_ns),
                    request, {}, decision, error);
}

limitree_status limitree_receipt_text(const limitree_hold* hold,
                                      const limitree_path* paths,
                                      size_t path_count, limitree_text** text,
                                      limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(hold, "hold", text, "text");
    PathRequest parsed;
    if (Status bad = parsed.read({paths, path_count}, {}); !bad.ok()) {
      return bad;
    }
    return give(receipt_text(parsed.costs().paths, {hold->id[0], hold->id[1]}),
                text);
  });
}

limitree_status limitree_receipt_new(limitree_str text,
                                     limitree_receipt** receipt,
                                     limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(text, "text.data", receipt, "receipt");
    Result<Receipt> read = Receipt::read(view(text));
    if (!read.ok()) return std::move(read.status());
    auto made = std::make_unique<limitree_receipt>(std::move(read.value()));
    const HoldId& id = made->receipt.id();
    made->hold = {{id.high, id.low}, {0, 0}};
    for (const Receipt::Way& way : made->receipt.paths()) {
      for (const std::string& segment : way.segments) {
        made->segments.push_back({segment.data(), segment.size()});
      }
    }
    const limitree_str* next = made->segments.data();
    for (const Receipt::Way& way : made->receipt.paths()) {
      made->paths.push_back({next, way.segments.size(), LIMITREE_AS_HELD,
                             static_cast<std::int32_t>(way.part)});
      next += way.segments.size();
    }
    *receipt = made.release();
    return {};
  });
}

void limitree_receipt_free(limitree_receipt* receipt) { delete receipt; }

const limitree_hold* limitree_receipt_hold(const limitree_receipt* receipt) {
  return receipt == nullptr ? nullptr : &receipt->hold;
}

const limitree_path* limitree_receipt_paths(const limitree_receipt* receipt,
                                            size_t* path_count) {
  if (path_count != nullptr) {
    *path_count = receipt == nullptr ? 0 : receipt->paths.size();
  }
  return receipt == nullptr ? nullptr : receipt->paths.data();
}
