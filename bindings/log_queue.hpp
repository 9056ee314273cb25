// Messages of limiters, from any thread, for a thread that may write them to a
// log: see limitree_config_set_log.  Takes no lock, so fork() may come at any
// time.

#ifndef LIMITREE_LOG_QUEUE_HPP
#define LIMITREE_LOG_QUEUE_HPP

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "limitree.h"

namespace limitree {

class LogQueue {
 public:
  struct Message {
    std::int32_t event;
    std::string text;
    Message* older = nullptr;
  };

  LogQueue() = default;
  ~LogQueue() { take(); }
  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;

  bool is_empty() const noexcept {
    return newest_.load(std::memory_order_relaxed) == nullptr;
  }

  // Oldest first.
  std::vector<Message> take() {
    std::vector<Message> messages;
    std::unique_ptr<Message> one(newest_.exchange(nullptr));
    while (one != nullptr) {
      messages.insert(messages.begin(), *one);
      one.reset(one->older);
    }
    return messages;
  }

  // A limitree_log_fn; `user_data` is the queue.
  static void add(std::int32_t event, limitree_str text,
                  void* user_data) noexcept {
    try {
      auto& newest = static_cast<LogQueue*>(user_data)->newest_;
      auto* const one =
          new Message{event, std::string(text.data, text.size), newest.load()};
      while (!newest.compare_exchange_weak(one->older, one)) {
      }
    } catch (...) {
      // Out of memory: the counters have the rest.
    }
  }

 private:
  std::atomic<Message*> newest_{nullptr};
};

}  // namespace limitree

#endif  // LIMITREE_LOG_QUEUE_HPP
