// A thread for calls whose work blocks.

#ifndef LIMITREE_SERVER_SERVICES_BLOCKING_CALLS_HPP
#define LIMITREE_SERVER_SERVICES_BLOCKING_CALLS_HPP

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "grpc/call.hpp"
#include "grpc/status.hpp"
#include "net/loop.hpp"

namespace limitree::server {

// Does one piece of work after the other, for rare operations only.  The
// thread starts with the first one.
class BlockingCalls {
 public:
  explicit BlockingCalls(Loop* loop) : loop_(loop) {}
  // Waits for the work that has begun.
  ~BlockingCalls();
  BlockingCalls(const BlockingCalls&) = delete;
  BlockingCalls& operator=(const BlockingCalls&) = delete;

  // Runs `work` on the thread, then finishes the call on the loop: with an
  // empty message if the status is that of success.  Refuses the call if too
  // many wait.
  void run(Call* call, std::function<GrpcStatus()> work);

 private:
  struct Job {
    std::function<GrpcStatus()> work;
    Call* call;  // nothing once the call is over; only the loop's thread looks
  };
  class Link;

  void work_on();
  static void finish(Job* job, GrpcStatus status);

  Loop* loop_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_BLOCKING_CALLS_HPP
