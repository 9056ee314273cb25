// Requests that wait for a store: for another machine, or for another process
// that holds a lock.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "io/loop.hpp"
#include "io/timer.hpp"
#include "limitree.hpp"
#include "net/block_memory.hpp"

namespace limitree::server {

class StoreLoop;

// A request as the library knows it: limitree_completion.request.  The library
// holds it until it is complete, even if nobody waits for the answer any more.
class PendingRequest : public InBlockMemory {
 public:
  // The store has to answer the next call within `time_left`.  `bytes` is about
  // what is kept until then: a large request counts as several.
  PendingRequest(StoreLoop* loop, Duration time_left, std::size_t bytes = 0);
  virtual ~PendingRequest();
  PendingRequest(const PendingRequest&) = delete;
  PendingRequest& operator=(const PendingRequest&) = delete;

  // Called once, on the thread of the loop.
  virtual void complete(const limitree_completion& completion) = 0;
  // After complete() has thrown: tells the client that there is no answer.
  virtual void fail() = 0;

 private:
  std::shared_ptr<std::size_t> count_;
  const std::size_t weight_;
};

// Runs the loop of a limiter handle inside `loop`.  Requests that wait for the
// store complete only on the thread of `loop`.
class StoreLoop final : public Watcher, public AtTurnEnd {
 public:
  // Does nothing if the store answers at once.  No other loop runs `limiter`.
  // Throws Failure if there is no descriptor to wait with.
  StoreLoop(Loop* loop, limitree_limiter* limiter);
  ~StoreLoop();
  StoreLoop(const StoreLoop&) = delete;
  StoreLoop& operator=(const StoreLoop&) = delete;

  // Whether no request ever waits.
  bool never_waits() const { return fd_ < 0; }
  // Whether as many requests wait as may wait.
  bool is_full() const;
  // Called after the library has answered LIMITREE_PENDING.  Requests of one
  // turn are sent together.
  void started(std::unique_ptr<PendingRequest> request);

  void on_ready(std::uint32_t events) override;
  void on_turn_end() override;

 private:
  friend class PendingRequest;

  void set_timeout(Duration timeout);

  Loop* loop_;
  limitree_limiter* limiter_;
  Duration timeout_{};  // as the library knows it
  int fd_;
  // The number of requests, some of which may outlive this.
  std::shared_ptr<std::size_t> count_ = std::make_shared<std::size_t>(0);
};

// Another handle of the same limiter, for a loop.  Throws what limitree.hpp
// throws.
LimiterHandle new_loop(limitree_limiter* limiter);

// For limitree_config_set_completion.  Each request is a PendingRequest*.
void complete_requests(const limitree_completion* completions,
                       std::size_t count, void* user_data);

}  // namespace limitree::server
