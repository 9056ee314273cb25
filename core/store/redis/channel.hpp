// One connection of a Node, shared by threads that block: see node.hpp.

#ifndef LIMITREE_STORE_REDIS_CHANNEL_HPP
#define LIMITREE_STORE_REDIS_CHANNEL_HPP

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "store/redis/command.hpp"
#include "store/redis/line.hpp"
#include "store/redis/wakeup.hpp"

namespace limitree::redis {

class alignas(64) Channel {
 public:
  // Everything must outlive it.
  Channel(const Endpoint& endpoint, const Settings& settings,
          const Login& login, Traffic* traffic);
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

  // Sends `bytes` and waits for the answer, until `deadline` at the latest.
  // Nothing if answers are overdue here: another channel may do better.
  // REQUIRES: the caller has joined.
  std::optional<Outcome> exchange(std::string_view bytes, bool asking,
                                  Monotonic now, Monotonic deadline,
                                  const Joinable& joinable = {});

  // Those of Node.
  void post(std::string_view bytes, Monotonic now);
  std::optional<Outcome> take_posted();
  void drop(Trouble trouble, const std::string& detail);

  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork_in_child();

 private:
  struct Waiter;
  struct Read;
  class Turn;
  class Posted;

  // What a caller has to do next.
  enum class Role : std::uint8_t { kWait, kRead, kLeave, kElsewhere };

  Role begin(Waiter* me, bool asking, Monotonic now);
  void wait(Waiter* me);
  void read(Waiter* me);

  // With the mutex held.
  bool step(Waiter* me, const Read& read);
  void spin(Waiter* me, Monotonic now);
  void expire(Waiter* me);
  bool has_reader() const;
  void appoint(Waiter* reader);
  void pass_on(Waiter* from);

  const bool low_latency_;
  std::mutex mutex_;  // guards everything down to callers_
  const std::unique_ptr<Posted> posted_;
  Line line_;
  Waiter* newest_ = nullptr;  // not yet completed: a list
  Waiter* done_ = nullptr;    // completed, but not yet told: a list
  Waiter* last_done_ = nullptr;
  Waiter* reader_ = nullptr;  // of the connection of this generation only
  std::uint64_t reader_generation_ = 0;
  Wakeup::Sleeper appointed_;  // to be woken, to read

  alignas(64) std::atomic<std::int32_t> callers_{0};
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_CHANNEL_HPP
