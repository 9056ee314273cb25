// Answers what clients ask the limiter, now or when the store has answered.
// The protocols read the requests and write the answers.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "decisions/answers.hpp"
#include "decisions/denied_callers.hpp"
#include "decisions/requests.hpp"
#include "decisions/store_loop.hpp"
#include "decisions/undo.hpp"
#include "limitree.h"
#include "net/client_request.hpp"

namespace limitree::server {

// Whether requests of Envoy can be answered.  May be used from any thread.
class DescriptorsState {
 public:
  static constexpr const char* kMissing = "no rate limit configuration loaded";

  // There will be descriptors, but they cannot be read yet.
  void miss() { missing_.store(true, std::memory_order_relaxed); }
  void loaded() { missing_.store(false, std::memory_order_relaxed); }

  bool are_missing() const { return missing_.load(std::memory_order_relaxed); }

  // A request is answered with kMissing.
  void count_refusal() { refusals_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t refusals() const {
    return refusals_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> missing_{false};
  std::atomic<std::uint64_t> refusals_{0};
};

// Belongs to the thread of one loop.  Sinks outlive the requests that were
// given with them.
class Decider {
 public:
  // `store_loop` is that of the limiter.  All arguments outlive this.
  Decider(limitree_limiter* limiter, StoreLoop* store_loop,
          const AnswerSettings* settings, DescriptorsState* descriptors);

  // One of kLimiterOperations.
  void decide(std::int32_t operation, const PathList& paths,
              ClientRequest* request, const AnswerSink* sink);
  // All paths at once: one of kLimiterOperations that answers nothing.
  void reset(std::int32_t operation, const PathList& paths,
             ClientRequest* request, const AnswerSink* sink);
  // Holds on the paths.  If the client goes away before the answer, nothing
  // stays held.
  void reserve(const PathList& paths, ClientRequest* request,
               const AnswerSink* sink);
  // Settles, cancels or extends what a receipt names.
  void settle(const ReceiptRequest& asked, ClientRequest* request,
              const AnswerSink* sink);
  // `list`, which outlives the request, may be used for others until then.
  // `flags` are those of limitree_envoy_request.
  void ask(DescriptorList* list, ClientRequest* request, const AnswerSink* sink,
           std::uint32_t flags = 0);
  // Forgets the buckets that the same request would reach.
  void reset(const DescriptorList& list, ClientRequest* request,
             const AnswerSink* sink);

  // Whom decide(), reserve() and ask() have denied.  From any thread.
  const DeniedCallers* denied() const { return denied_.get(); }

 private:
  // Answers and returns true if there are no descriptors yet.
  template <typename Answer>
  bool lacks_descriptors(ClientRequest* request, const AnswerSink* sink);

  limitree_limiter* limiter_;
  StoreLoop* store_loop_;
  const AnswerSettings* settings_;
  DescriptorsState* descriptors_;
  // The levels of answers that are given at once.
  std::unique_ptr<limitree_level[]> levels_;
  std::vector<limitree_descriptor_status> statuses_;
  // Pending requests may outlive these.
  std::shared_ptr<Undo> undo_;
  std::shared_ptr<DeniedCallers> denied_ = std::make_shared<DeniedCallers>();
};

}  // namespace limitree::server
