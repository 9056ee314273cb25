#include "decisions/decider.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "decisions/pending.hpp"
#include "limitree.hpp"

namespace limitree::server {

namespace {

// Notes in `callers` whether `caller()` was denied.
template <typename Caller>
void note_denied(bool limited, std::uint32_t flags, DeniedCallers* callers,
                 const Caller& caller) {
  if (limited || (flags & LIMITREE_SHADOWED) != 0) [[unlikely]] {
    callers->add(caller(), !limited, steady_now());
  }
}

// LIMITREE_SHADOWED if the service, or the rule of a descriptor, is in shadow.
std::uint32_t flags_of(const limitree_envoy_response& response,
                       std::span<const limitree_descriptor_status> statuses) {
  std::uint32_t flags = response.flags;
  for (const limitree_descriptor_status& status : statuses) {
    flags |= status.flags & LIMITREE_SHADOWED;
  }
  return flags;
}

// A caller until the answer comes, when its request is gone.
class WaitingCaller {
 public:
  WaitingCaller() = default;
  WaitingCaller(std::string text, std::shared_ptr<DeniedCallers> callers)
      : text_(std::move(text)), callers_(std::move(callers)) {}

  void note(bool limited, std::uint32_t flags) const {
    if (callers_ == nullptr) return;
    note_denied(limited, flags, callers_.get(),
                [this]() -> const std::string& { return text_; });
  }

 private:
  std::string text_;
  std::shared_ptr<DeniedCallers> callers_;  // null: not noted
};

class PendingDecision final
    : public PendingAnswer<LimiterAnswer, limitree_level> {
 public:
  PendingDecision(StoreLoop* loop, ClientRequest* request,
                  const AnswerSink* sink, std::size_t room,
                  WaitingCaller caller)
      : PendingAnswer(loop, request, sink, room), caller_(std::move(caller)) {}

 private:
  void note(const limitree_completion& completion) override {
    caller_.note(completion.decision.limited != 0, completion.decision.flags);
  }

  WaitingCaller caller_;
};

// If its client goes away, what it holds is given back.
class PendingEnvoy final
    : public PendingAnswer<EnvoyAnswer, limitree_descriptor_status> {
 public:
  PendingEnvoy(StoreLoop* loop, ClientRequest* request, const AnswerSink* sink,
               DescriptorList* list, std::weak_ptr<Undo> undo,
               WaitingCaller caller)
      : PendingAnswer(loop, request, sink, list->get().descriptor_count,
                      list->source().size()),
        rollback_(std::make_unique<EnvoyRollback>(std::move(undo), list)),
        caller_(std::move(caller)) {}

 private:
  void note(const limitree_completion& /*completion*/) override {
    const limitree_envoy_response& response = answer()->response;
    caller_.note(response.overall_code == LIMITREE_CODE_OVER_LIMIT,
                 flags_of(response, elements()));
  }
  std::unique_ptr<Rollback> rollback(
      const limitree_completion& /*completion*/) override {
    if ((answer()->response.flags & LIMITREE_HOLDS) == 0) return nullptr;
    return std::move(rollback_);
  }

  std::unique_ptr<Rollback> rollback_;
  WaitingCaller caller_;
};

// A reservation that waits for the store.
class PendingReserve final
    : public PendingAnswer<LimiterAnswer, limitree_level> {
 public:
  PendingReserve(StoreLoop* loop, ClientRequest* request,
                 const AnswerSink* sink, std::size_t room,
                 std::weak_ptr<Undo> undo, WaitingCaller caller)
      : PendingAnswer(loop, request, sink, room),
        undo_(std::move(undo)),
        caller_(std::move(caller)) {}

 private:
  void note(const limitree_completion& completion) override {
    caller_.note(completion.decision.limited != 0, completion.decision.flags);
  }
  std::unique_ptr<Rollback> rollback(
      const limitree_completion& completion) override {
    if (completion.decision.held == 0) return nullptr;
    return std::make_unique<ReceiptRollback>(undo_, answer()->receipt);
  }

  std::weak_ptr<Undo> undo_;
  WaitingCaller caller_;
};

using PendingSettle = PendingAnswer<LimiterAnswer, limitree_level>;

// The resets that one answer waits for.
class Resets {
 public:
  // There are `count` resets; take() must be called for each.
  Resets(ClientRequest* request, const AnswerSink* sink, std::size_t count)
      : sink_(sink), waiter_(request), left_(count) {}

  // One reset is over.  The first failure is the answer.
  void take(limitree_status status, const limitree_error* error) {
    if (status < 0 && answer_.status >= 0) {
      answer_.status = status;
      answer_.message = message_for_client(status, error);
    }
    ClientRequest* const request = waiter_.request();
    if (--left_ == 0 && request != nullptr) sink_->answer(request, answer_);
  }

  void fail() { waiter_.fail(); }

 private:
  const AnswerSink* sink_;
  Waiter waiter_;
  std::size_t left_;
  LimiterAnswer answer_;
};

// A reset of one path.
class PendingReset final : public PendingRequest {
 public:
  PendingReset(StoreLoop* loop, Duration time_left,
               std::shared_ptr<Resets> resets)
      : PendingRequest(loop, time_left), resets_(std::move(resets)) {}

  void complete(const limitree_completion& completion) override {
    resets_->take(completion.status, completion.error);
  }
  void fail() override { resets_->fail(); }

 private:
  std::shared_ptr<Resets> resets_;
};

}  // namespace

Decider::Decider(limitree_limiter* limiter, StoreLoop* store_loop,
                 const AnswerSettings* settings, DescriptorsState* descriptors)
    : limiter_(limiter),
      store_loop_(store_loop),
      settings_(settings),
      descriptors_(descriptors),
      levels_(std::make_unique_for_overwrite<limitree_level[]>(
          LIMITREE_MAX_LEVELS)),
      undo_(std::make_shared<Undo>(limiter, store_loop)) {}

void Decider::decide(std::int32_t operation, const PathList& list,
                     ClientRequest* request, const AnswerSink* sink) {
  if (operation < 0) return reset(operation, list, request, sink);
  const std::vector<limitree_path>& paths = list.paths();
  const std::vector<limitree_cost>& costs = list.costs();
  const std::size_t most = list.needs_levels() ? LIMITREE_MAX_LEVELS : 0;
  const bool notes = operation == LIMITREE_AUTHORIZE;
  if (store_loop_->never_waits()) {
    limitree_decision decision;
    limitree_error* error = nullptr;
    const limitree_status status = limitree_decide_costs(
        limiter_, operation, paths.data(), paths.size(), costs.data(),
        costs.size(), most == 0 ? nullptr : levels_.get(), most, &decision,
        &error);
    const ErrorHandle owner(error);
    if (status < 0) {
      return fail<LimiterAnswer>(request, sink, status,
                                 message_for_client(status, error));
    }
    if (notes) {
      note_denied(decision.limited != 0, decision.flags, denied_.get(),
                  [&] { return caller_text(paths); });
    }
    LimiterAnswer answer;
    answer.decision = &decision;
    answer.levels = first_levels(decision, {levels_.get(), most});
    answer.omits_levels = list.omits_levels();
    return sink->answer(request, answer);
  }
  if (refuses<LimiterAnswer>(*store_loop_, request, sink)) return;
  auto pending = std::make_unique<PendingDecision>(
      store_loop_, request, sink, level_room(list),
      notes ? WaitingCaller(caller_text(paths), denied_) : WaitingCaller());
  pending->answer()->omits_levels = list.omits_levels();
  const std::span<limitree_level> levels = pending->elements();
  start(store_loop_, std::move(pending),
        [&](void* user, limitree_decision* decision, limitree_error** error) {
          return limitree_decide_costs_async(limiter_, operation, paths.data(),
                                             paths.size(), costs.data(),
                                             costs.size(), user, levels.data(),
                                             levels.size(), decision, error);
        });
}

void Decider::reset(std::int32_t operation, const PathList& list,
                    ClientRequest* request, const AnswerSink* sink) {
  const std::vector<limitree_path>& paths = list.paths();
  if (paths.size() > LIMITREE_MAX_PATHS) {  // as many as a decision takes
    return fail<LimiterAnswer>(request, sink, LIMITREE_INVALID_ARGUMENT,
                               "there are " + std::to_string(paths.size()) +
                                   " paths, the most is " +
                                   std::to_string(LIMITREE_MAX_PATHS));
  }
  if (refuses<LimiterAnswer>(*store_loop_, request, sink)) return;
  // One more, so that the answer comes after the last reset was started.
  const auto resets = std::make_shared<Resets>(request, sink, paths.size() + 1);
  for (const limitree_path& path : paths) {
    start(store_loop_,
          std::make_unique<PendingReset>(store_loop_, request->time_left(),
                                         resets),
          [&](void* user, limitree_decision* /*decision*/,
              limitree_error** error) {
            if (operation == LimiterOperation::kBlock) {
              return limitree_block_async(limiter_, path.segments, path.size,
                                          list.hold_ns(), user, error);
            }
            if (operation == LimiterOperation::kUnblock) {
              return limitree_unblock_async(limiter_, path.segments, path.size,
                                            user, error);
            }
            return limitree_reset_async(limiter_, path.segments, path.size,
                                        list.leaf_only() ? 1 : 0, user, error);
          });
  }
  resets->take(LIMITREE_OK, nullptr);
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
  auto pending = std::make_unique<PendingReserve>(
      store_loop_, request, sink, level_room(list), undo_,
      WaitingCaller(caller_text(paths), denied_));
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
          if (asked.operation->act == HoldOperation::Act::kSettle) {
            status = limitree_settle_async(
                limiter_, hold, paths.data(), count, asked.costs.data(),
                asked.costs.size(), user, decision, error);
          } else if (asked.operation->act == HoldOperation::Act::kCancel) {
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

template <typename Answer>
bool Decider::lacks_descriptors(ClientRequest* request,
                                const AnswerSink* sink) {
  if (!descriptors_->are_missing()) return false;
  descriptors_->count_refusal();
  fail<Answer>(request, sink, LIMITREE_STORE_UNAVAILABLE,
               DescriptorsState::kMissing);
  return true;
}

void Decider::reset(const DescriptorList& list, ClientRequest* request,
                    const AnswerSink* sink) {
  if (lacks_descriptors<LimiterAnswer>(request, sink)) return;
  if (refuses<LimiterAnswer>(*store_loop_, request, sink)) return;
  const limitree_envoy_request asked = list.get();
  start(
      store_loop_,
      std::make_unique<PendingReset>(
          store_loop_, request->time_left(),
          std::make_shared<Resets>(request, sink, 1)),
      [&](void* user, limitree_decision* /*decision*/, limitree_error** error) {
        return limitree_reset_descriptors_async(limiter_, &asked, user, error);
      });
}

void Decider::ask(DescriptorList* list, ClientRequest* request,
                  const AnswerSink* sink, std::uint32_t flags) {
  if (lacks_descriptors<EnvoyAnswer>(request, sink)) return;
  limitree_envoy_request asked = list->get();
  asked.flags |= flags;
  if (settings_->dynamic_metadata) asked.flags |= LIMITREE_WANTS_METADATA;
  const bool notes = (asked.flags & LIMITREE_ONLY_PEEKS) == 0;
  if (store_loop_->never_waits()) {
    empty(&statuses_);
    statuses_.resize(asked.descriptor_count);
    EnvoyAnswer answer;
    limitree_error* error = nullptr;
    answer.status =
        limitree_should_rate_limit(limiter_, &asked, statuses_.data(),
                                   statuses_.size(), &answer.response, &error);
    const ErrorHandle owner(error);
    if (answer.status < 0) {
      answer.message = message_for_client(answer.status, error);
    }
    answer.statuses = statuses_;
    if (answer.status >= 0 && (answer.response.flags & LIMITREE_HOLDS) != 0) {
      request->unless_taken(std::make_unique<EnvoyRollback>(undo_, list));
    }
    // After that: it may find no memory.
    if (answer.status >= 0 && notes) {
      note_denied(answer.response.overall_code == LIMITREE_CODE_OVER_LIMIT,
                  flags_of(answer.response, statuses_), denied_.get(),
                  [&] { return caller_text(asked); });
    }
    return sink->answer(request, answer);
  }
  if (refuses<EnvoyAnswer>(*store_loop_, request, sink)) return;
  auto pending = std::make_unique<PendingEnvoy>(
      store_loop_, request, sink, list, undo_,
      notes ? WaitingCaller(caller_text(asked), denied_) : WaitingCaller());
  const std::span<limitree_descriptor_status> statuses = pending->elements();
  limitree_envoy_response* const response = &pending->answer()->response;
  start(
      store_loop_, std::move(pending),
      [&](void* user, limitree_decision* /*decision*/, limitree_error** error) {
        return limitree_should_rate_limit_async(
            limiter_, &asked, user, statuses.data(), statuses.size(), response,
            error);
      });
}

}  // namespace limitree::server
