// A word from one thread to another that may sleep until it comes.
//
// It is sent in two steps, because the sleeper may take the word, return and be
// gone before it has been woken: set() is called while the sleeper is known to
// be there, and what it returns needs only the address afterwards.

#pragma once

#include <atomic>
#include <cstdint>

#if !defined(__linux__)
#include <condition_variable>
#include <mutex>
#endif

#include "store/remote/common/health.hpp"

namespace limitree::remote {

class Wakeup {
 public:
  enum class Word : std::uint32_t {
    kNone = 0,
    kAsleep = 1,  // internal
    kRead = 2,    // "you are the reader now"
    kDone = 3,    // "your command is completed"
  };

  // The thread to wake, if one sleeps.
  class Sleeper {
   public:
    Sleeper() = default;
    void wake() const;

   private:
    friend class Wakeup;
    explicit Sleeper(void* address) : address_(address) {}
    void* address_ = nullptr;
  };

  // Sleeps until another word than `known`, the last one noticed, has been set,
  // at most until `deadline`.  Returns it, or `known`.
  Word wait(Word known, Monotonic deadline);

  // Sets the word; the sleeper is to be woken soon after.  Another word may
  // follow before this one has been noticed.
  [[nodiscard]] Sleeper set(Word word);

 private:
  std::atomic<std::uint32_t> word_{0};
#if !defined(__linux__)
  std::mutex mutex_;
  std::condition_variable changed_;
#endif
};

}  // namespace limitree::remote
