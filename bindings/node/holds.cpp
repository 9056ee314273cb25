#include "holds.hpp"

#include <cstdint>
#include <memory>
#include <vector>

#include "environment.hpp"
#include "limitree.hpp"

namespace limitree::node {

namespace {

using ReceiptHandle =
    std::unique_ptr<limitree_receipt, Release<limitree_receipt_free>>;

std::int64_t hold_ns(const Request& request) {
  return static_cast<std::int64_t>(request.numbers[kHoldNs]);
}

// A receipt that would be too long is refused before anything is held.
limitree_status check_length(const Paths& paths, limitree_error** error) {
  constexpr std::size_t kShort = std::size_t{32} * 1024;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const limitree_path& path = paths.data()[i];
    for (std::size_t k = 0; k < path.size; ++k) {
      bytes += path.segments[k].size + 8;
    }
  }
  if (bytes < kShort) return LIMITREE_OK;
  const limitree_hold none{};
  limitree_text* text = nullptr;
  const limitree_status status =
      limitree_receipt_text(&none, paths.data(), paths.size(), &text, error);
  limitree_text_free(text);
  return status;
}

napi_value receipt_of(const Request& request, const limitree_hold& hold,
                      const Paths& paths) {
  limitree_text* text = nullptr;
  const limitree_status status =
      limitree_receipt_text(&hold, paths.data(), paths.size(), &text, nullptr);
  if (status < 0) return nullptr;
  const TextHandle owner(text);
  const limitree_str ascii = limitree_text_str(text);
  napi_value made = nullptr;
  napi_create_string_latin1(request.native->environment().env(), ascii.data,
                            ascii.size, &made);
  return made;
}

limitree_status reserve(const Request& request, const Room& room,
                        napi_value* receipt, limitree_error** error) {
  const Paths paths = request.paths();
  const std::vector<limitree_cost> costs = request.costs();
  limitree_status status = check_length(paths, error);
  if (status < 0) return status;
  limitree_hold hold;
  if (room.pending == nullptr) {
    status = limitree_reserve(request.limiter(), paths.data(), paths.size(),
                              costs.data(), costs.size(), hold_ns(request),
                              &hold, room.levels, room.level_capacity,
                              room.decision, error);
  } else {
    status = limitree_reserve_async(
        request.limiter(), paths.data(), paths.size(), costs.data(),
        costs.size(), hold_ns(request), &hold, room.pending, room.levels,
        room.level_capacity, room.decision, error);
  }
  if (status >= 0) *receipt = receipt_of(request, hold, paths);
  return status;
}

// Calls `now(inputs..., decision, error)`, or `later` if the answer may come
// later.
template <typename Now, typename Later, typename... Inputs>
limitree_status call(const Room& room, limitree_error** error, Now now,
                     Later later, Inputs... inputs) {
  return room.pending == nullptr
             ? now(inputs..., room.decision, error)
             : later(inputs..., room.pending, room.decision, error);
}

}  // namespace

limitree_status ask_for_hold(const Request& request, const Room& room,
                             napi_value* receipt, limitree_error** error) {
  if (request.operation == kReserve) {
    return reserve(request, room, receipt, error);
  }
  limitree_receipt* read = nullptr;
  const limitree_status status =
      limitree_receipt_new(request.receipt(), &read, error);
  if (status < 0) return status;
  const ReceiptHandle owner(read);
  const limitree_hold* const hold = limitree_receipt_hold(read);
  std::size_t count = 0;
  const limitree_path* const known = limitree_receipt_paths(read, &count);
  if (request.operation == kCancel) {
    return call(room, error, limitree_cancel, limitree_cancel_async,
                request.limiter(), hold, known, count);
  }
  if (request.operation == kExtend) {
    return call(room, error, limitree_extend, limitree_extend_async,
                request.limiter(), hold, known, count, hold_ns(request));
  }
  std::vector<limitree_path> paths(known, known + count);
  for (limitree_path& path : paths) path.cost = request.cost;
  const std::vector<limitree_cost> costs = request.costs();
  return call(room, error, limitree_settle, limitree_settle_async,
              request.limiter(), hold, paths.data(), count, costs.data(),
              costs.size());
}

}  // namespace limitree::node
