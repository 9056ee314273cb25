// One connection, shared by threads that block: see connection_pool.hpp.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "io/look.hpp"
#include "store/remote/drivers/waiting.hpp"
#include "store/remote/drivers/wakeup.hpp"
#include "store/remote/route/task.hpp"
#include "store/remote/wire/command.hpp"
#include "store/remote/wire/connection.hpp"

namespace limitree::remote {

class alignas(64) Channel {
 public:
  // Everything must outlive it.
  Channel(Node* node, const Settings& settings);
  ~Channel();  // no call may be running
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Callers that have chosen this channel and not yet left it.
  std::int32_t callers() const {
    return callers_.load(std::memory_order_relaxed);
  }
  // Becomes one of them; false if there are no longer as many as `callers`
  // and another channel may be the better choice.
  bool join(std::int32_t callers);
  void leave() { callers_.fetch_sub(1, std::memory_order_relaxed); }

  // Sends the task's command and waits for the answer as long as `patience`
  // lasts.  Nothing if answers are overdue here: another channel may do better.
  // REQUIRES: the caller has joined.
  std::optional<Outcome> exchange(const Task& task, Patience* patience);

  // Reads answers that came too late for their callers, unless somebody reads.
  // Returns whether it is connected.
  bool read_late(Monotonic at);
  // After that: connects again if none has come for too long.
  void renew(Monotonic at);

  // As in ConnectionPool.
  void post(std::string_view bytes, Monotonic at);
  std::optional<Outcome> take_posted();
  void drop(Failure failure, const std::string& detail);

  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork_in_child();

 private:
  struct Waiter;
  class Turn;
  class Posted;

  // What a caller has to do next.
  enum class Role : std::uint8_t { kWait, kRead, kLeave, kElsewhere };

  Role begin(Waiter* me, bool asking);
  void wait(Waiter* me);
  void read(Waiter* me);

  // With the mutex held.
  bool step(Waiter* me, std::optional<bool> readable);
  bool take_beat(Waiter* me);
  void look(Waiter* me, Monotonic now);
  void expire(Waiter* me);
  bool let_go(Waiter* me) noexcept;  // takes the mutex
  Monotonic running_time(Monotonic now);
  bool has_reader() const;
  void appoint(Waiter* reader);
  void pass_on(Waiter* from);

  std::mutex mutex_;  // guards everything down to callers_
  Look look_;
  const std::unique_ptr<Posted> posted_;
  Connection connection_;
  Waiter* newest_ = nullptr;  // not yet completed: a list
  Waiter* done_ = nullptr;    // completed, but not yet woken: a list
  Waiter* last_done_ = nullptr;
  Waiter* reader_ = nullptr;  // of the connection of this generation only
  std::uint64_t reader_generation_ = 0;
  Wakeup::Sleeper appointed_;  // to be woken, to read
  Monotonic looked_{};         // of the last look at the clock
  Duration lost_{};            // in which none of the callers could run

  alignas(64) std::atomic<std::int32_t> callers_{0};
};

}  // namespace limitree::remote
