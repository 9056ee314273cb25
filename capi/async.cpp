// The functions that do not block, and the delivery of their answers.

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "base/recycled.hpp"
#include "convert.hpp"

using namespace limitree;
using namespace limitree::capi;

namespace limitree::capi {

// One call, from its start to its completion.  After its answer it waits in a
// list of its handle until the whole batch is delivered.  Delivery does not
// allocate, so no completion can get lost.
class AsyncCall final : public Listener, public Recycled<AsyncCall, 512> {
 public:
  AsyncCall(limitree_limiter* limiter, void* request, Levels levels,
            const Statuses& statuses)
      : Listener(limiter->loop.get()),
        limiter_(limiter),
        request_(request),
        levels_(levels),
        statuses_(statuses) {}

  void decided(Status status, const Decision& decision,
               const LevelReports& reports) noexcept override {
    if (status.ok()) {
      fill(decision, &completion_.decision);
      levels_.fill(reports);
    }
    complete(std::move(status));
  }

  void answered(Status status, EnvoyAnswer* answer) noexcept override {
    if (status.ok()) statuses_.fill(answer);
    complete(std::move(status));
  }

  // The completion, which refers to *error.
  limitree_completion completion(limitree_error* error) const {
    limitree_completion completion = completion_;
    if (!status_.ok()) {
      *error = {&status_.error()};
      completion.error = error;
    }
    return completion;
  }

  // Reverses a list: oldest first.
  static AsyncCall* reversed(AsyncCall* newest) {
    AsyncCall* list = nullptr;
    while (newest != nullptr) {
      AsyncCall* const next = std::exchange(newest->older_, list);
      list = std::exchange(newest, next);
    }
    return list;
  }
  AsyncCall* next() const { return older_; }

 private:
  void complete(Status status) {
    completion_.request = request_;
    completion_.status = static_cast<limitree_status>(status.code());
    status_ = std::move(status);
    older_ = std::exchange(limiter_->answered, this);
  }

  limitree_limiter* const limiter_;
  void* const request_;
  const Levels levels_;
  const Statuses statuses_;
  limitree_completion completion_{};
  Status status_;
  AsyncCall* older_ = nullptr;
};

}  // namespace limitree::capi

namespace {

// Calls on_completion for all answered calls.  It may start new calls, which a
// later limitree_loop_run answers.
void deliver(limitree_limiter* limiter) {
  AsyncCall* list =
      AsyncCall::reversed(std::exchange(limiter->answered, nullptr));
  std::array<limitree_completion, 64> batch;
  std::array<limitree_error, 64> errors;
  while (list != nullptr) {
    std::array<std::unique_ptr<AsyncCall>, 64> calls;
    std::size_t count = 0;
    for (; count < batch.size() && list != nullptr; ++count) {
      calls[count].reset(list);
      batch[count] = list->completion(&errors[count]);
      list = list->next();
    }
    limiter->shared->on_completion(batch.data(), count,
                                   limiter->completion_data);
  }
}

// Calls `use` with the loop of the handle; false if it has none.
template <typename Use>
bool with_loop(limitree_limiter* limiter, Use&& use) noexcept {
  if (limiter == nullptr || limiter->loop == nullptr) return false;
  try {
    use(limiter->loop.get());
  } catch (...) {
    // Memory or a lock was not available: the next run does the rest.
  }
  return true;
}

// Whether the calls of that handle, whose store may wait, can complete later.
Status check_loop(const limitree_limiter& limiter) {
  if (limiter.shared->on_completion == nullptr) {
    return Status(Code::kInvalidArgument,
                  "this store needs limitree_config_set_completion");
  }
  if (limiter.loop == nullptr) {
    return Status(Code::kCancelled, "the handle is being freed");
  }
  return {};
}

// Runs `body` as a whole C function.  The body starts a call with the listener
// that it gets, null if the store never waits, and sets *pending if the answer
// comes later.
template <typename Body>
limitree_status start(limitree_limiter* limiter, void* request, Levels levels,
                      const Statuses& statuses, limitree_error** error,
                      Body&& body) noexcept {
  bool pending = false;
  const limitree_status status = guarded(error, [&]() -> Status {
    require(limiter, "limiter");
    std::unique_ptr<AsyncCall> listener;
    if (limiter->limiter.may_wait()) {
      if (Status bad = check_loop(*limiter); !bad.ok()) return bad;
      listener =
          std::make_unique<AsyncCall>(limiter, request, levels, statuses);
    }
    Status outcome = body(listener.get(), &pending);
    if (pending) listener.release();  // deletes itself after its delivery
    return outcome;
  });
  return pending ? LIMITREE_PENDING : status;
}

template <typename Read>
limitree_status start_decision(limitree_limiter* limiter, Operation operation,
                               void* request, Levels levels,
                               limitree_decision* decision,
                               limitree_error** error, Read&& read) noexcept {
  return start(limiter, request, levels, {}, error,
               [&](AsyncCall* listener, bool* pending) -> Status {
                 require(decision, "decision");
                 PathRequest parsed;
                 if (Status bad = read(&parsed); !bad.ok()) return bad;
                 LevelReports reports;
                 Answer answer;
                 if (levels.wanted()) answer.reports = &reports;
                 Status outcome;
                 *pending = !limiter->limiter.decide_async(
                     operation, parsed.costs(), &answer, listener, &outcome);
                 if (*pending || !outcome.ok()) return outcome;
                 fill(answer.decision, decision);
                 levels.fill(reports);
                 return {};
               });
}

// `act` starts what it does with a path; true: it is done.
template <typename Act>
limitree_status start_at(limitree_limiter* limiter, const limitree_str* path,
                         std::size_t path_size, void* request,
                         limitree_error** error, Act&& act) noexcept {
  return start(limiter, request, {}, {}, error,
               [&](AsyncCall* listener, bool* pending) -> Status {
                 Segments segments;
                 append(path, path_size, &segments);
                 Status outcome;
                 *pending =
                     !act(Path(segments.data(), path_size), listener, &outcome);
                 return outcome;
               });
}

limitree_status decide_later(limitree_limiter* limiter, std::int32_t operation,
                             std::span<const limitree_path> paths,
                             std::span<const limitree_cost> costs,
                             void* request, Levels levels,
                             limitree_decision* decision,
                             limitree_error** error) noexcept {
  return start_decision(limiter, static_cast<Operation>(operation), request,
                        levels, decision, error, [&](PathRequest* parsed) {
                          Status bad = check_operation(operation);
                          if (!bad.ok()) return bad;
                          return parsed->read(paths, costs);
                        });
}

}  // namespace

limitree_status limitree::capi::start_hold(limitree_limiter* limiter,
                                           const HoldCall& call, void* request,
                                           Levels levels,
                                           limitree_decision* decision,
                                           limitree_error** error) noexcept {
  return start_decision(limiter, call.operation, request, levels, decision,
                        error, [&](PathRequest* parsed) {
                          require(call.hold, "hold");
                          return parsed->read(call);
                        });
}

limitree_limiter::~limitree_limiter() {
  unwatch_forks();
  loop.reset();  // cancels what is pending
  deliver(this);
}

limitree_status limitree_authorize_async(limitree_limiter* limiter,
                                         const limitree_str* path,
                                         size_t path_size, int64_t cost,
                                         void* request,
                                         limitree_decision* decision,
                                         limitree_error** error) {
  if (limiter == nullptr || !limiter->limiter.may_wait()) {
    return limitree_authorize(limiter, path, path_size, cost, decision, error);
  }
  const limitree_path one = {path, path_size, cost, LIMITREE_PART_CHARGE};
  return decide_later(limiter, LIMITREE_AUTHORIZE, {&one, 1}, {}, request, {},
                      decision, error);
}

limitree_status limitree_decide_async(
    limitree_limiter* limiter, int32_t operation, const limitree_path* paths,
    size_t path_count, void* request, limitree_level* levels,
    size_t level_capacity, limitree_decision* decision,
    limitree_error** error) {
  return decide_later(limiter, operation, {paths, path_count}, {}, request,
                      {levels, level_capacity}, decision, error);
}

limitree_status limitree_decide_costs_async(
    limitree_limiter* limiter, int32_t operation, const limitree_path* paths,
    size_t path_count, const limitree_cost* costs, size_t cost_count,
    void* request, limitree_level* levels, size_t level_capacity,
    limitree_decision* decision, limitree_error** error) {
  return decide_later(limiter, operation, {paths, path_count},
                      {costs, cost_count}, request, {levels, level_capacity},
                      decision, error);
}

limitree_status limitree_reset_async(limitree_limiter* limiter,
                                     const limitree_str* path, size_t path_size,
                                     int32_t leaf_only, void* request,
                                     limitree_error** error) {
  return start_at(limiter, path, path_size, request, error,
                  [&](Path segments, AsyncCall* listener, Status* outcome) {
                    return limiter->limiter.reset_async(
                        segments,
                        leaf_only != 0 ? Forget::kLeaf : Forget::kPath,
                        listener, outcome);
                  });
}

limitree_status limitree_block_async(limitree_limiter* limiter,
                                     const limitree_str* path, size_t path_size,
                                     int64_t duration_ns, void* request,
                                     limitree_error** error) {
  return start_at(limiter, path, path_size, request, error,
                  [&](Path segments, AsyncCall* listener, Status* outcome) {
                    return limiter->limiter.block_async(
                        segments, Duration(duration_ns), listener, outcome);
                  });
}

limitree_status limitree_unblock_async(limitree_limiter* limiter,
                                       const limitree_str* path,
                                       size_t path_size, void* request,
                                       limitree_error** error) {
  return start_at(limiter, path, path_size, request, error,
                  [&](Path segments, AsyncCall* listener, Status* outcome) {
                    return limiter->limiter.reset_async(
                        segments, Forget::kBlock, listener, outcome);
                  });
}

limitree_status limitree_should_rate_limit_async(
    limitree_limiter* limiter, const limitree_envoy_request* request,
    void* user_request, limitree_descriptor_status* statuses,
    size_t status_capacity, limitree_envoy_response* response,
    limitree_error** error) {
  const Statuses out{statuses, status_capacity, response};
  return start(limiter, user_request, {}, out, error,
               [&](AsyncCall* listener, bool* pending) -> Status {
                 check(limiter, request, out);
                 EnvoyRequest parsed;
                 if (Status bad = parsed.read(*request); !bad.ok()) return bad;
                 EnvoyAnswer answer;
                 answer.wants_metadata = parsed.wants_metadata();
                 Status outcome;
                 *pending = !limiter->limiter.should_rate_limit_async(
                     parsed.request(), &answer, listener, &outcome);
                 if (!*pending && outcome.ok()) out.fill(&answer);
                 return outcome;
               });
}

limitree_status limitree_reset_descriptors_async(
    limitree_limiter* limiter, const limitree_envoy_request* request,
    void* user_request, limitree_error** error) {
  return start(limiter, user_request, {}, {}, error,
               [&](AsyncCall* listener, bool* pending) -> Status {
                 require(request, "request");
                 EnvoyRequest parsed;
                 if (Status bad = parsed.read(*request); !bad.ok()) return bad;
                 Status outcome;
                 *pending = !limiter->limiter.reset_async(parsed.request(),
                                                          listener, &outcome);
                 return outcome;
               });
}

int limitree_loop_fd(limitree_limiter* limiter) {
  int fd = -1;
  with_loop(limiter, [&](StoreLoop* loop) { fd = loop->fd(); });
  return fd;
}

void limitree_loop_set_wakeups(limitree_limiter* limiter, int on) {
  with_loop(limiter, [&](StoreLoop* loop) { loop->set_wakeups(on != 0); });
}

void limitree_loop_set_timeout(limitree_limiter* limiter, int64_t timeout_ns) {
  with_loop(limiter, [&](StoreLoop* loop) {
    loop->set_time_limit(timeout_ns > 0 ? Duration(timeout_ns)
                                        : Duration::max());
  });
}

int64_t limitree_loop_until_run(limitree_limiter* limiter) {
  std::optional<Duration> time;
  with_loop(limiter, [&](StoreLoop* loop) { time = loop->until_run(); });
  return time ? time->count() : -1;
}

void limitree_loop_run(limitree_limiter* limiter) {
  if (with_loop(limiter, [](StoreLoop* loop) { loop->run(); })) {
    deliver(limiter);
  }
}
