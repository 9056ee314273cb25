// What the statistics of the service are, and where they go.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/timer.hpp"

namespace limitree::server {

enum class StatsFormat {
  kNone,       // nothing is sent
  kStatsd,     // tags are part of the names, as ".__name=value"
  kDogStatsd,  // tags follow the values, as "|#name:value"
};

enum class StatsProtocol { kTcp, kUdp };

// Turns a name of StatsD into another name with tags.
struct MogrifierSettings {
  std::string name;      // <N>, for messages
  std::string pattern;   // a regular expression, in the syntax of RE2
  std::string new_name;  // $1 is what the first group matched
  std::string tags;      // "name:value,name:value", values with $1, too
};

struct StatsSettings {
  StatsFormat format = StatsFormat::kNone;
  StatsProtocol protocol = StatsProtocol::kTcp;
  std::string host = "localhost";
  std::uint16_t port = 8125;
  Duration flush_interval = 10 * kOneSecond;
  std::string extra_tags;
  std::vector<MogrifierSettings> mogrifiers;  // the first that matches counts
};

}  // namespace limitree::server
