// Statistics as lines of StatsD.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "stats/mogrifier.hpp"
#include "stats/settings.hpp"
#include "stats/snapshot.hpp"

namespace limitree::server {

class StatsdText {
 public:
  // Throws Failure if tags or patterns are wrong.
  explicit StatsdText(const StatsSettings& settings);

  // Calls `take` with each line, which ends with '\n': counters that are not 0,
  // all gauges, and at most 100 values for the times of each method.
  // `difference` has what was counted since the last time.
  void write(const Snapshot& difference,
             const std::function<void(std::string_view)>& take) const;

 private:
  // A line is "name:value|type|@share|#name:value,name:value\n".
  std::string line(std::string_view name, std::string_view value) const;
  TaggedName tagged(std::string_view name) const;

  StatsFormat format_;
  std::vector<Tag> tags_;
  std::vector<Mogrifier> mogrifiers_;
};

}  // namespace limitree::server
