// Requests that wait for the store, and the clients that wait for them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "decisions/answers.hpp"
#include "decisions/requests.hpp"
#include "decisions/store_loop.hpp"
#include "limitree.h"
#include "limitree.hpp"
#include "net/block_memory.hpp"
#include "net/client_request.hpp"

namespace limitree::server {

// How many levels an answer that comes later has at most: more than the limits
// of any path, in most trees.
inline std::size_t level_room(const PathList& list) {
  constexpr std::size_t kLevelsPerSegment = 4;
  if (!list.needs_levels()) return 0;
  return std::min<std::size_t>(LIMITREE_MAX_LEVELS,
                               (list.segment_count() + 1) * kLevelsPerSegment);
}

inline std::span<const limitree_level> first_levels(
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

// Answers and returns true if too many requests wait.
template <typename Answer>
bool refuses(const StoreLoop& loop, ClientRequest* request,
             const AnswerSink* sink) {
  if (!loop.is_full()) return false;
  fail<Answer>(request, sink, LIMITREE_OUT_OF_MEMORY, "too many calls wait");
  return true;
}

// Calls `start(user, decision, error)`, which starts what `pending` waits for.
template <typename Start>
void start(StoreLoop* loop, std::unique_ptr<PendingRequest> pending,
           const Start& start) {
  limitree_completion done{};
  limitree_error* error = nullptr;
  done.status =
      start(static_cast<void*>(pending.get()), &done.decision, &error);
  const ErrorHandle owner(error);
  done.error = error;
  if (done.status == LIMITREE_PENDING) {
    loop->started(std::move(pending));
  } else {
    pending->complete(done);
  }
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
class PendingAnswer : public PendingRequest {
 public:
  // `bytes` are kept beside `room` elements.
  PendingAnswer(StoreLoop* loop, ClientRequest* request, const AnswerSink* sink,
                std::size_t room, std::size_t bytes = 0)
      : PendingRequest(loop, request->time_left(),
                       room * sizeof(Element) + bytes),
        sink_(sink),
        waiter_(request),
        elements_(room) {}

  Answer* answer() { return &answer_; }
  std::span<Element> elements() { return elements_.span(); }

  void complete(const limitree_completion& completion) final {
    ClientRequest* const request = waiter_.request();
    std::unique_ptr<Rollback> untaken;
    if (completion.status >= 0) {
      note(completion);
      untaken = rollback(completion);
    }
    if (request == nullptr) {
      if (untaken != nullptr) untaken->run();
      return;
    }
    if (untaken != nullptr) request->unless_taken(std::move(untaken));
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
  void fail() final { waiter_.fail(); }

 private:
  // Called with each answer of the store.
  virtual void note(const limitree_completion& /*completion*/) {}
  // What to do if the client does not take the answer; null: nothing.
  virtual std::unique_ptr<Rollback> rollback(
      const limitree_completion& /*completion*/) {
    return nullptr;
  }

  const AnswerSink* sink_;
  Waiter waiter_;
  Answer answer_;
  BlockArray<Element> elements_;
};

}  // namespace limitree::server
