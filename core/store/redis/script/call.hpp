// Plans as calls of scripts, and their replies as debts.
//
// A family is what one key holds: all levels from the first segment that a
// wildcard, pattern or CIDR child substituted down to the next such segment.
// Levels above the first substituted segment are a family of their own, which
// goes by the path's first segment.  Its key is
//     <prefix>{<path down to the outermost substituted segment>}<rest of it>
// so that everything of one caller lies in one slot of a cluster; its hash has
// a field for each level, named by the static rest of the path and the limit's
// suffix ("" for the family's own level, "trade", "trade:spot#daily").  The
// field ":", which no path can name, is the script's own: a second up to which
// the key lives at least.  A level that can hold units has more fields:
// held_lua.hpp.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/inline_vector.hpp"
#include "base/plan.hpp"
#include "base/status.hpp"
#include "store/redis/common/remote.hpp"
#include "store/redis/script/compiled_script.hpp"
#include "store/redis/wire/resp.hpp"
#include "store/remote/common/family.hpp"

namespace limitree::redis {

// A level's place in Redis.
struct Address {
  std::string key;
  std::string field;
};
Address address_of(const Plan& plan, const Level& level,
                   std::string_view prefix);

// The instant a store decides at: the server's own, or a caller's clock.
using Now = std::optional<Instant>;

// Of a plan's levels, by their index.
using Usages = InlineVector<Usage, 4>;

// A call of the script for some levels of a plan.
class Call {
 public:
  // A script decides `levels` as plan.operation asks for: those decided by
  // one call, all of the plan or in a cluster those of one slot.  `plan` is
  // read here and in read_reply() only.
  // kInvalidArgument if a cost is negative, or a caller's clock names an
  // instant before 1970 or too late for now + burst offset, or a limit has a
  // hold and can_be_held() says no.
  // REQUIRES: `levels` is not empty.
  Status encode(const Plan& plan, LevelSet levels, std::string_view prefix,
                const Now& now, Scripts* scripts = &Scripts::of_process());

  // EVALSHA, or EVAL with the text of the script.
  std::string_view evalsha() const { return evalsha_; }
  std::string_view eval() const;  // made when asked for
  Joinable joinable() const;

  // Sets level.debt of `levels`, as it was before the call, or level.usage,
  // plan->lease.granted, and *charged to whether the script charged anything,
  // *ran_at to when it ran.
  // kStoreProtocol, and nothing can be judged, if it is not such a reply.
  // REQUIRES: *usages has a place for each level of the plan, and outlives
  // their judgement; it may be null if all of `levels` are plain.
  static Status read_reply(const redisReply& reply, Plan* plan, LevelSet levels,
                           bool* charged, Usages* usages = nullptr,
                           Instant* ran_at = nullptr);

 private:
  std::string evalsha_;
  mutable std::string eval_;
  const Script* script_ = nullptr;
  std::size_t arguments_ = 0;  // where in evalsha_ they start
  std::size_t keys_ = 0;       // the same; their number comes before them
  std::size_t key_count_ = 0;
  std::size_t words_ = 0;
};

// The command that forgets a bucket; its reply is 1, or 0 if there was none.
// `holds`: that of a limit that can hold units, with its holds.
std::string reset_command(const Address& address, bool holds = false);

}  // namespace limitree::redis
