// A thread beside the loops, for work that may block.

#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "io/timer.hpp"

namespace limitree {

class Background {
 public:
  // What the thread waits for.
  class Signal {
   public:
    // Waits until `at`, wake() or the end, whichever is first; false at the
    // end.
    bool wait_until(Monotonic at);
    bool is_ending();

   private:
    friend class Background;

    std::mutex mutex_;  // guards all below
    std::condition_variable changed_;
    bool woken_ = false;
    bool ending_ = false;
    bool ended_ = false;
  };

  // Runs `run` on a new thread.  It must return soon once is_ending().
  explicit Background(std::function<void(Signal&)> run);
  // Ends the thread.  A thread that does not return in time, because it waits
  // for the network, keeps running: so after such a wait `run` must check
  // is_ending() before it touches anything that it does not own.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // From any thread.
  void wake();

 private:
  std::shared_ptr<Signal> signal_;
};

// A thread that runs `work` each `interval`, and once more at its end.
std::unique_ptr<Background> run_each(
    Duration interval, std::function<void(Background::Signal&)> work);

}  // namespace limitree
