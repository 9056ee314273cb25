// When a command that was answered with an error is sent again, and to whom.

#ifndef LIMITREE_STORE_REDIS_DRIVE_RETRY_HPP
#define LIMITREE_STORE_REDIS_DRIVE_RETRY_HPP

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.hpp"
#include "store/redis/facts/settings.hpp"
#include "store/redis/route/task.hpp"

namespace limitree::redis {

class Retry {
 public:
  // Starts with a new command, for the keys of `slot`.
  void begin(std::int32_t slot);

  const Target& target() const { return target_; }

  // The step that sends the command again, if it had no effect and another
  // attempt may: at another node, or a little later.  Nothing otherwise.
  std::optional<Task::Step> after(const Outcome& outcome);

  // One more attempt, for a reason of the caller's.
  bool may_repeat() { return ++attempts_ < kMaxAttempts; }

  // The outcome as the failure of the whole call.  One that is unknown may
  // have been carried out: kStoreTimeout, whatever broke, unless the server
  // answered with what makes no sense.
  Status failure(const Outcome& outcome, const Settings& settings) const;

 private:
  // A cluster that moves slots asks for two or three attempts, as a failover
  // does; the deadline ends the rest.
  static constexpr std::int32_t kMaxAttempts = 32;

  Target target_;
  std::int32_t attempts_ = 0;
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_DRIVE_RETRY_HPP
