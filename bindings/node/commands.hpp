// The commands that a client of JavaScript is to send: from the thread whose
// call asks the store to the thread of JavaScript.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "limitree.hpp"

namespace limitree::node {

struct SentCommand {
  std::uint64_t token;
  std::size_t first_key;
  std::vector<std::string> words;
};

class Commands {
 public:
  // Calls `wake` for commands of other threads than this one.
  void begin(std::function<void()> wake) {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
  }
  void end() { begin(nullptr); }

  std::vector<SentCommand> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
  }

  // A limitree_send_fn.  A command for which there is no memory has no answer.
  static void add(const limitree_command* command, void* commands) noexcept {
    try {
      static_cast<Commands*>(commands)->keep(*command);
    } catch (const std::bad_alloc&) {
    }
  }

 private:
  void keep(const limitree_command& command) {
    SentCommand sent{command.token, command.first_key, {}};
    for (std::size_t i = 0; i < command.word_count; ++i) {
      sent.words.emplace_back(to_view(command.words[i]));
    }
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(sent));
    if (wake_ && std::this_thread::get_id() != thread_) wake_();
  }

  const std::thread::id thread_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::vector<SentCommand> waiting_;
  std::function<void()> wake_;
};

}  // namespace limitree::node
