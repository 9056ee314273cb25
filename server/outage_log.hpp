// Messages about a store that fails: one when that begins, and one when it is
// back.  In the words of the outages of Python and Node.js.

#ifndef LIMITREE_SERVER_OUTAGE_LOG_HPP
#define LIMITREE_SERVER_OUTAGE_LOG_HPP

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "config/settings.hpp"
#include "io/loop.hpp"
#include "io/timer.hpp"
#include "limitree.h"

namespace limitree::server {

// What a limiter has counted so far.
struct StoreCounts {
  std::int64_t answers = 0;       // of the store
  std::int64_t replacements = 0;  // requests that the policy decided, or failed
  std::map<std::string, std::int64_t> failures;  // by reason
};

// The policy is that of `settings`.  From any thread.
StoreCounts read_store_counts(limitree_limiter* limiter,
                              const std::string& policy);

// on_store_error, and the store without user and password.
std::string policy_of(const ServeSettings& settings);
std::string shown_store(const ServeSettings& settings);

// Compares counts from time to time.  Knows no clock.
class Outage {
 public:
  // The store is back when it has answered, without failures, for so long: one
  // that fails now and then does not fill the log.
  static constexpr Nanoseconds kQuiet = 5 * kSecond;

  Outage(std::string store, std::string policy)
      : store_(std::move(store)), policy_(std::move(policy)) {}

  // Returns a message, or nothing.
  std::string note(const StoreCounts& counts, Instant now);

 private:
  std::string begins(const StoreCounts& counts) const;
  std::string ends(const StoreCounts& counts) const;

  const std::string store_;
  const std::string policy_;
  StoreCounts last_;
  StoreCounts before_;  // the trouble
  bool away_ = false;
  Instant since_ = 0;
  Instant answered_ = kNever;  // the first time since a failure
};

// Looks at a limiter once a second.
class OutageLog {
 public:
  // `limiter` outlives this.
  OutageLog(Loop* loop, const ServeSettings& settings,
            limitree_limiter* limiter);

 private:
  void look();

  Loop* loop_;
  limitree_limiter* limiter_;
  const std::string policy_;
  Outage outage_;
  Timer timer_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_OUTAGE_LOG_HPP
