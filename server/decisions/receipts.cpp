// What the Decider does with reservations.

#include "decisions/receipts.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "decisions/pending.hpp"

namespace limitree::server {

namespace {

using Act = HoldOperation::Act;

// The text of a receipt; empty, with the reason in *why, if there is none.
std::string receipt_of(const limitree_hold& hold,
                       const std::vector<limitree_path>& paths,
                       AnswerStatus* why) {
  limitree_text* text = nullptr;
  limitree_error* error = nullptr;
  why->status =
      limitree_receipt_text(&hold, paths.data(), paths.size(), &text, &error);
  const TextHandle owner(text);
  const ErrorHandle error_owner(error);
  if (why->status < 0) {
    why->message = message_for_client(why->status, error);
    return {};
  }
  const limitree_str view = limitree_text_str(text);
  return {view.data, view.size};
}

// A reservation that waits for the store.
class PendingReserve final
    : public PendingAnswer<LimiterAnswer, limitree_level> {
 public:
  PendingReserve(StoreLoop* loop, ClientRequest* request,
                 const AnswerSink* sink, std::size_t room,
                 std::weak_ptr<Undo> undo)
      : PendingAnswer(loop, request, sink, room), undo_(std::move(undo)) {}

 private:
  std::unique_ptr<Regret> regret(
      const limitree_completion& completion) override {
    if (completion.decision.held == 0) return nullptr;
    return std::make_unique<ReceiptRegret>(undo_, answer()->receipt);
  }

  std::weak_ptr<Undo> undo_;
};

using PendingSettle = PendingAnswer<LimiterAnswer, limitree_level>;

}  // namespace

ReceiptHandle read_receipt(std::string_view text, AnswerStatus* why) {
  limitree_receipt* receipt = nullptr;
  limitree_error* error = nullptr;
  const limitree_status status =
      limitree_receipt_new({text.data(), text.size()}, &receipt, &error);
  const ErrorHandle owner(error);
  if (status < 0 && why != nullptr) {
    why->status = status;
    why->message = message_for_client(status, error);
  }
  return ReceiptHandle(receipt);
}

void Decider::reserve(const PathList& list, ClientRequest* request,
                      const AnswerSink* sink) {
  const std::vector<limitree_path>& paths = list.paths();
  const std::vector<limitree_cost>& costs = list.costs();
  // What has no receipt could not be settled: this is known before it is held.
  if (AnswerStatus why; receipt_of({}, paths, &why).empty()) {
    return fail<LimiterAnswer>(request, sink, why.status, why.message);
  }
  if (refuses<LimiterAnswer>(*store_loop_, request, sink)) return;
  auto pending = std::make_unique<PendingReserve>(store_loop_, request, sink,
                                                  level_room(list), undo_);
  LimiterAnswer* const answer = pending->answer();
  answer->omits_levels = list.omits_levels();
  const std::span<limitree_level> levels = pending->elements();
  start(store_loop_, std::move(pending),
        [&](void* user, limitree_decision* decision, limitree_error** error) {
          limitree_hold hold{};
          const limitree_status status = limitree_reserve_async(
              limiter_, paths.data(), paths.size(), costs.data(), costs.size(),
              list.hold_ns(), &hold, user, levels.data(), levels.size(),
              decision, error);
          if (status >= 0) answer->receipt = receipt_of(hold, paths, answer);
          return status;
        });
}

void Decider::settle(const ReceiptRequest& asked, ClientRequest* request,
                     const AnswerSink* sink) {
  AnswerStatus why;
  const ReceiptHandle receipt = read_receipt(asked.receipt, &why);
  if (receipt == nullptr) {
    return fail<LimiterAnswer>(request, sink, why.status, why.message);
  }
  if (refuses<LimiterAnswer>(*store_loop_, request, sink)) return;
  std::size_t count = 0;
  const limitree_path* const first =
      limitree_receipt_paths(receipt.get(), &count);
  const limitree_hold* const hold = limitree_receipt_hold(receipt.get());
  std::vector<limitree_path> paths(first, first + count);
  for (limitree_path& path : paths) path.cost = asked.cost;
  auto pending = std::make_unique<PendingSettle>(store_loop_, request, sink, 0);
  pending->answer()->counts = asked.operation->counts;
  start(store_loop_, std::move(pending),
        [&](void* user, limitree_decision* decision, limitree_error** error) {
          limitree_status status = LIMITREE_OK;
          if (asked.operation->act == Act::kSettle) {
            status = limitree_settle_async(
                limiter_, hold, paths.data(), count, asked.costs.data(),
                asked.costs.size(), user, decision, error);
          } else if (asked.operation->act == Act::kCancel) {
            status = limitree_cancel_async(limiter_, hold, paths.data(), count,
                                           user, decision, error);
          } else {
            status =
                limitree_extend_async(limiter_, hold, paths.data(), count,
                                      asked.hold_ns, user, decision, error);
          }
          // The receipt is of another tree.
          return status == LIMITREE_UNKNOWN_ROOT ? LIMITREE_INVALID_ARGUMENT
                                                 : status;
        });
}

}  // namespace limitree::server
