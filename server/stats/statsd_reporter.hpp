// Sends the statistics to a server of StatsD at regular intervals.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "io/background.hpp"
#include "stats/settings.hpp"
#include "stats/snapshot.hpp"

namespace limitree::server {

// Returns a thread that does so, so that problems with the server do not delay
// requests; its end sends what has been counted since the last time.  If there
// is no connection, counts wait for the next time.  Counts that were given to a
// connection that then breaks are lost.
//
// `read` is called from that thread, and `say` with a line for people when
// sending begins to fail or to work.  `lost` counts lines that were lost.
// Throws Failure if the settings are wrong.
std::unique_ptr<Background> report_to_statsd(
    const StatsSettings& settings, std::function<Snapshot()> read,
    std::function<void(const std::string&)> say,
    std::shared_ptr<std::atomic<std::uint64_t>> lost);

}  // namespace limitree::server
