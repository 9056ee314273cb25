// Whether a command is sent to Redis again, and where.

#pragma once

#include <cstdint>
#include <optional>

#include "base/status.hpp"
#include "store/redis/common/settings.hpp"
#include "store/remote/route/task.hpp"
#include "store/remote/wire/command.hpp"

namespace limitree::redis {

class Retry {
 public:
  // Starts with a new command, for the keys of `place`.
  void begin(const Place& place);

  const Target& target() const { return target_; }

  // The step that sends the command again, if it had no effect and another
  // attempt may: at another node, or a little later.  Nothing otherwise.
  std::optional<Task::Step> after(const Outcome& outcome);

  // One more attempt, for a reason of the caller's.
  bool may_repeat() { return ++attempts_ < kMaxAttempts; }

  // See attempt.hpp.
  Status failure(const Outcome& outcome, const Settings& settings) const;

 private:
  // A cluster that moves slots asks for two or three attempts, as a failover
  // does; the deadline ends the rest.
  static constexpr std::int32_t kMaxAttempts = 32;

  Target target_;
  std::int32_t attempts_ = 0;
};

}  // namespace limitree::redis
