// Plans as calls of decide.lua, and its replies as debts.
//
// A family is what one key holds: all levels from the first segment that a
// wildcard, pattern or CIDR child substituted down to the next such segment.
// Levels above the first substituted segment are a family of their own.  Its
// key is
//     <prefix>{<path down to the outermost substituted segment>}<rest of it>
// so that everything of one caller lies in one slot of a cluster; its hash has
// a field for each level, named by the static rest of the path and the limit's
// suffix ("" for the family's own level, "trade", "trade:spot#daily").

#ifndef LIMITREE_STORE_REDIS_SCRIPT_HPP
#define LIMITREE_STORE_REDIS_SCRIPT_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/plan.hpp"
#include "base/status.hpp"
#include "store/redis/command.hpp"

namespace limitree::redis {

// A level's place in Redis.
struct Address {
  std::string key;
  std::string field;
};
Address address_of(const Plan& plan, const Level& level,
                   std::string_view prefix);

// The levels of a plan that are decided by one call: all of them, or in a
// cluster those of one slot.  Indices into plan.levels, ascending.
using LevelSet = std::span<const std::uint32_t>;

// The instant a store decides at: the server's own, or a caller's clock.
using Now = std::optional<Instant>;

// A call of the script for some levels of a plan.
class Call {
 public:
  // The script decides `levels` as plan.operation asks for.  `plan` is read
  // here and in read_reply() only.
  // kInvalidArgument if a number is out of the range that the script computes
  // exactly.
  Status encode(const Plan& plan, LevelSet levels, std::string_view prefix,
                const Now& now);

  // EVALSHA, or EVAL with the text of the script.
  std::string_view evalsha() const { return evalsha_; }
  std::string_view eval() const;  // made when asked for

  // The key that decides the slot.
  std::string_view first_key() const;

  // Sets level.debt of `levels` from the reply, and *charged to whether the
  // script wrote anything.  kStoreProtocol if it is no such reply.
  // Every number is range-checked: 0 <= debt <= burst offset.
  static Status read_reply(const redisReply& reply, Plan* plan, LevelSet levels,
                           bool* charged);

 private:
  std::string evalsha_;
  mutable std::string eval_;
  std::string first_key_;
};

// Appends the command that forgets the levels' buckets (a script as well, or
// HDEL per key); its reply tells how many there were.
void append_reset(const Plan& plan, LevelSet levels, std::string_view prefix,
                  std::string* out);

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_SCRIPT_HPP
