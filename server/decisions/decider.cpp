#include "decisions/decider.hpp"

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "io/trouble.hpp"
#include "limitree.hpp"

namespace limitree::server {

namespace {

// More than the limits of any path have, in most trees.
constexpr std::size_t kLevelsPerSegment = 4;

// Null: the client may read the error itself.
const char* text_instead_of(limitree_status status) {
  switch (status) {
    case LIMITREE_STORE_UNAVAILABLE:
      return "the store does not answer";
    case LIMITREE_STORE_TIMEOUT:
      return "the store does not answer in time";
    case LIMITREE_STORE_PROTOCOL:
      return "the store does not answer as it should";
    case LIMITREE_INTERNAL:
      return "the server has made a mistake";
    default:
      return nullptr;
  }
}

std::span<const limitree_level> first_levels(
    const limitree_decision& decision, std::span<const limitree_level> levels) {
  return levels.first(
      std::min(levels.size(), static_cast<std::size_t>(decision.level_count)));
}

template <typename Answer>
void fail(ClientRequest* request, const AnswerSink* sink,
          limitree_status status, const std::string& message) {
  Answer answer;
  answer.status = status;
  answer.message = message;
  sink->answer(request, answer);
}

// A request of a client until it is over.
class Waiter {
 public:
  explicit Waiter(ClientRequest* request) : request_(request) {
    request->keep(std::make_unique<Link>(this));
  }
  // If there is no memory for the answer, there is no answer.
  ~Waiter() {
    if (request_ != nullptr) request_->keep(nullptr);
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Null when it is over.
  ClientRequest* request() const { return request_; }

  void fail() {
    if (request_ != nullptr) request_->fail_inside();
  }

 private:
  class Link final : public RequestState {
   public:
    explicit Link(Waiter* waiter) : waiter_(waiter) {}
    ~Link() override { waiter_->request_ = nullptr; }

   private:
    Waiter* waiter_;
  };

  ClientRequest* request_;
};

// A request that waits for the store.  The library writes an array of `Element`
// that belongs to the answer.
template <typename Answer, typename Element>
class PendingAnswer final : public PendingRequest {
 public:
  PendingAnswer(StoreLoop* loop, ClientRequest* request, const AnswerSink* sink,
                std::size_t room)
      : PendingRequest(loop, request->time_left()),
        sink_(sink),
        waiter_(request),
        elements_(room) {}

  Answer* answer() { return &answer_; }
  std::span<Element> elements() { return elements_.span(); }

  // Answers, unless the request is over.
  void complete(const limitree_completion& completion) override {
    ClientRequest* const request = waiter_.request();
    if (request == nullptr) return;
    if (completion.status < 0) {
      server::fail<Answer>(
          request, sink_, completion.status,
          message_for_client(completion.status, completion.error));
      return;
    }
    if constexpr (std::is_same_v<Answer, LimiterAnswer>) {
      answer_.decision = &completion.decision;
      answer_.levels = first_levels(completion.decision, elements());
    } else {
      answer_.statuses = elements();
    }
    sink_->answer(request, answer_);
  }
  void fail() override { waiter_.fail(); }

 private:
  const AnswerSink* sink_;
  Waiter waiter_;
  Answer answer_;
  BlockArray<Element> elements_;
};

using PendingDecision = PendingAnswer<LimiterAnswer, limitree_level>;
using PendingEnvoy = PendingAnswer<EnvoyAnswer, limitree_descriptor_status>;

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

std::string message_for_client(limitree_status status,
                               const limitree_error* error) {
  const char* const text = text_instead_of(status);
  const char* const own = error != nullptr ? limitree_error_message(error)
                                           : limitree_status_name(status);
  if (text == nullptr) return own;
  tell_trouble(own);
  return text;
}

Decider::Decider(limitree_limiter* limiter, StoreLoop* store_loop,
                 const AnswerSettings* settings, DescriptorsState* descriptors)
    : limiter_(limiter),
      store_loop_(store_loop),
      settings_(settings),
      descriptors_(descriptors),
      levels_(std::make_unique_for_overwrite<limitree_level[]>(
          LIMITREE_MAX_LEVELS)) {}

// Answers and returns true if too many requests wait.
template <typename Answer>
bool Decider::refuses(ClientRequest* request, const AnswerSink* sink) const {
  if (!store_loop_->is_full()) return false;
  fail<Answer>(request, sink, LIMITREE_OUT_OF_MEMORY, "too many calls wait");
  return true;
}

// Calls `start(user, decision, error)`, which starts what `pending` waits for.
template <typename Start>
void Decider::start(std::unique_ptr<PendingRequest> pending,
                    const Start& start) {
  limitree_completion done{};
  limitree_error* error = nullptr;
  done.status =
      start(static_cast<void*>(pending.get()), &done.decision, &error);
  const ErrorHandle owner(error);
  done.error = error;
  if (done.status == LIMITREE_PENDING) {
    store_loop_->started(std::move(pending));
  } else {
    pending->complete(done);
  }
}

void Decider::decide(std::int32_t operation, const PathList& list,
                     ClientRequest* request, const AnswerSink* sink) {
  if (operation == LimiterOperation::kReset) return reset(list, request, sink);
  const std::vector<limitree_path>& paths = list.paths();
  const std::vector<limitree_cost>& costs = list.costs();
  const std::size_t most = list.needs_levels() ? LIMITREE_MAX_LEVELS : 0;
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
    LimiterAnswer answer;
    answer.decision = &decision;
    answer.levels = first_levels(decision, {levels_.get(), most});
    answer.omits_levels = list.omits_levels();
    return sink->answer(request, answer);
  }
  if (refuses<LimiterAnswer>(request, sink)) return;
  auto pending = std::make_unique<PendingDecision>(
      store_loop_, request, sink,
      std::min(most, (list.segment_count() + 1) * kLevelsPerSegment));
  pending->answer()->omits_levels = list.omits_levels();
  const std::span<limitree_level> levels = pending->elements();
  start(std::move(pending), [&](void* user, limitree_decision* decision,
                                limitree_error** error) {
    return limitree_decide_costs_async(
        limiter_, operation, paths.data(), paths.size(), costs.data(),
        costs.size(), user, levels.data(), levels.size(), decision, error);
  });
}

void Decider::reset(const PathList& list, ClientRequest* request,
                    const AnswerSink* sink) {
  const std::vector<limitree_path>& paths = list.paths();
  if (paths.size() > LIMITREE_MAX_PATHS) {  // as many as a decision takes
    return fail<LimiterAnswer>(request, sink, LIMITREE_INVALID_ARGUMENT,
                               "there are " + std::to_string(paths.size()) +
                                   " paths, the most is " +
                                   std::to_string(LIMITREE_MAX_PATHS));
  }
  if (refuses<LimiterAnswer>(request, sink)) return;
  // One more, so that the answer comes after the last reset was started.
  const auto resets = std::make_shared<Resets>(request, sink, paths.size() + 1);
  for (const limitree_path& path : paths) {
    start(std::make_unique<PendingReset>(store_loop_, request->time_left(),
                                         resets),
          [&](void* user, limitree_decision* /*decision*/,
              limitree_error** error) {
            return limitree_reset_async(limiter_, path.segments, path.size,
                                        list.leaf_only() ? 1 : 0, user, error);
          });
  }
  resets->take(LIMITREE_OK, nullptr);
}

void Decider::ask(limitree_envoy_request asked, ClientRequest* request,
                  const AnswerSink* sink) {
  if (descriptors_->are_missing()) {
    descriptors_->count_refusal();
    return fail<EnvoyAnswer>(request, sink, LIMITREE_STORE_UNAVAILABLE,
                             DescriptorsState::kMissing);
  }
  if (settings_->dynamic_metadata) asked.flags |= LIMITREE_WANTS_METADATA;
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
    return sink->answer(request, answer);
  }
  if (refuses<EnvoyAnswer>(request, sink)) return;
  auto pending = std::make_unique<PendingEnvoy>(store_loop_, request, sink,
                                                asked.descriptor_count);
  const std::span<limitree_descriptor_status> statuses = pending->elements();
  limitree_envoy_response* const response = &pending->answer()->response;
  start(std::move(pending), [&](void* user, limitree_decision* /*decision*/,
                                limitree_error** error) {
    return limitree_should_rate_limit_async(limiter_, &asked, user,
                                            statuses.data(), statuses.size(),
                                            response, error);
  });
}

}  // namespace limitree::server
