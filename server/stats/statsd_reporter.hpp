// Sends the statistics to a server of StatsD at regular intervals.

#ifndef LIMITREE_SERVER_STATS_STATSD_REPORTER_HPP
#define LIMITREE_SERVER_STATS_STATSD_REPORTER_HPP

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "io/background.hpp"
#include "stats/settings.hpp"
#include "stats/snapshot.hpp"

namespace limitree::server {

// Has its own thread, so that problems with the server do not delay requests.
// If there is no connection, counts wait for the next time.  Counts that were
// given to a connection that then breaks are lost.
class StatsdReporter {
 public:
  // `read` is called from the reporter's thread, and `say` with a line for
  // people when sending begins to fail or to work.  `lost` counts lines that
  // were lost.  Throws Failure if the settings are wrong.
  StatsdReporter(const StatsSettings& settings, std::function<Snapshot()> read,
                 std::function<void(const std::string&)> say,
                 std::shared_ptr<std::atomic<std::uint64_t>> lost);
  // Sends what has been counted since the last time.
  ~StatsdReporter();
  StatsdReporter(const StatsdReporter&) = delete;
  StatsdReporter& operator=(const StatsdReporter&) = delete;

 private:
  class Work;

  std::unique_ptr<Background> thread_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_STATS_STATSD_REPORTER_HPP
