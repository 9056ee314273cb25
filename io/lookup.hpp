// Questions to name servers, each on a thread of its own, because the system's
// resolver waits and has no time limit.

#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "io/fd.hpp"

namespace limitree {

// One question.  Its asker and its thread share it; the last of them frees it,
// so an asker may forget it at any time.
class Lookup {
 public:
  // Questions of this process that may be under way at once.  If name servers
  // do not answer, each attempt leaves one behind for a while.
  static constexpr int kMaxThreads = 32;

  virtual ~Lookup() = default;
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  // Why a thread is not started where so many run.
  static constexpr std::string_view kNoRoom =
      "too many look-ups of names are not answered";

  // Starts the thread.  Returns why it cannot; "" otherwise.
  static std::string start(const std::shared_ptr<Lookup>& lookup);

  // Can be read once done().
  int fd() const { return answered_.get(); }
  // Whether there is an answer, which then belongs to the asker.
  bool done() const { return done_.load(std::memory_order_acquire); }
  // Why there is no answer; "" if there is one.
  const std::string& detail() const { return detail_; }

  // In the child of a fork(), which does not have the thread.  Closes fd().
  void abandon_after_fork();

 protected:
  Lookup() = default;

 private:
  // Asks, and keeps the answer.  Returns why there is none, "" otherwise.
  virtual std::string ask() = 0;
  void run();

  Fd answered_;
  Fd answer_;
  std::atomic<bool> done_{false};
  std::string detail_;
};

}  // namespace limitree
