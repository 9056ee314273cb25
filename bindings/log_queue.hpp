// Messages of limiters, from any thread, for a thread that may write them to a
// log: see limitree_config_set_log.  Takes no lock, so fork() may come at any
// time.  Holds the first few messages that nobody has taken: a host that never
// asks for them must not pay for more.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
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

  static constexpr int kMost = 64;

  LogQueue() = default;
  ~LogQueue() { delete_all(newest_.load()); }
  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;

  bool is_empty() const noexcept {
    return newest_.load(std::memory_order_relaxed) == nullptr;
  }

  // Oldest first.
  std::vector<Message> take() {
    std::vector<Message> messages;
    messages.reserve(kMost);  // without memory the messages stay
    Message* const newest = newest_.exchange(nullptr);
    for (Message* one = newest; one != nullptr; one = one->older) {
      messages.push_back({one->event, std::move(one->text)});
    }
    count_ -= delete_all(newest);
    std::ranges::reverse(messages);
    return messages;
  }

  // A limitree_log_fn; `user_data` is the queue.
  static void add(std::int32_t event, limitree_str text,
                  void* user_data) noexcept {
    auto* const queue = static_cast<LogQueue*>(user_data);
    // The counters have what is dropped.
    if (queue->count_.fetch_add(1) >= kMost) {
      --queue->count_;
      return;
    }
    try {
      auto* const one = new Message{event, std::string(text.data, text.size),
                                    queue->newest_.load()};
      while (!queue->newest_.compare_exchange_weak(one->older, one)) {
      }
    } catch (...) {
      --queue->count_;  // out of memory
    }
  }

 private:
  // Returns how many there were.
  static int delete_all(Message* newest) noexcept {
    int count = 0;
    for (; newest != nullptr; ++count)
      delete std::exchange(newest, newest->older);
    return count;
  }

  std::atomic<Message*> newest_{nullptr};
  std::atomic<int> count_{0};  // of those that wait, or are about to
};

}  // namespace limitree
