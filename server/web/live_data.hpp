// What /ui and `limitree top --server` show, as JSON.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decisions/denied_callers.hpp"
#include "limitree.hpp"
#include "stats/rate_history.hpp"

namespace limitree::server {

// How the limits came, and what became of the last attempt to load them.
struct LoadState {
  std::int64_t loaded = 0;            // times
  std::int64_t refused = 0;           // times that they had mistakes
  std::int64_t last_ms = 0;           // Unix time of the last attempt
  std::vector<std::string> mistakes;  // of the last one, the first few
};

struct LiveData {
  static constexpr std::size_t kMostCallers = 100;
  static constexpr std::size_t kMostMistakes = 10;

  const RateHistory* rates = nullptr;
  std::int64_t end_ms = 0;  // Unix time of the last sample
  DeniedCallers::Callers denied;
  std::string limits;  // the name of their file
  bool shadow = false;
  bool can_reset = false;
  std::string store;                  // "redis", the scheme of its URL
  std::optional<bool> store_answers;  // nothing: nobody asks it for that
  Counters counters;                  // of requests and of the store
  LoadState load;
};

std::string live_json(const LiveData& data);

}  // namespace limitree::server
