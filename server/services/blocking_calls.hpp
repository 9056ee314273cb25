// A thread for work that blocks.

#ifndef LIMITREE_SERVER_SERVICES_BLOCKING_CALLS_HPP
#define LIMITREE_SERVER_SERVICES_BLOCKING_CALLS_HPP

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "limitree.h"
#include "net/loop.hpp"

namespace limitree::server {

// What a blocking call of the library returned.
struct BlockingResult {
  limitree_status status = LIMITREE_OK;
  std::string message;  // if it failed
};

// Does one piece of work after the other, for rare operations only.  The
// thread starts with the first one.
class BlockingCalls {
 private:
  struct Job;

 public:
  using Work = std::function<BlockingResult()>;
  using Done = std::function<void(const BlockingResult&)>;

  // Somebody waits for the work as long as this lives.
  class Ticket {
   public:
    explicit Ticket(std::shared_ptr<Job> job) : job_(std::move(job)) {}
    ~Ticket() { job_->done = nullptr; }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

   private:
    std::shared_ptr<Job> job_;
  };

  explicit BlockingCalls(Loop* loop) : loop_(loop) {}
  // Waits for the work that has begun.
  ~BlockingCalls();
  BlockingCalls(const BlockingCalls&) = delete;
  BlockingCalls& operator=(const BlockingCalls&) = delete;

  // Runs `work` on the thread, then `done` on the loop, unless the ticket is
  // destroyed before.  Returns none if too much work waits.
  std::unique_ptr<Ticket> run(Work work, Done done);

 private:
  struct Job {
    Work work;
    Done done;  // only the loop's thread looks
  };

  void work_on();

  Loop* loop_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_BLOCKING_CALLS_HPP
