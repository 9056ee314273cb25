// What people see on the admin port of a service at work: /ui, and the
// requests of that page.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config_thread.hpp"
#include "config/settings.hpp"
#include "decisions/decider.hpp"
#include "decisions/denied_callers.hpp"
#include "decisions/store_loop.hpp"
#include "http/handler.hpp"
#include "io/loop.hpp"
#include "io/timer.hpp"
#include "limitree.hpp"
#include "net/access.hpp"
#include "stats/rate_history.hpp"
#include "web/decision_pages.hpp"

namespace limitree::server {

// How the limits came, and what became of the last attempt to load them.
struct LoadState {
  std::int64_t loaded = 0;            // times
  std::int64_t refused = 0;           // times that they had mistakes
  std::int64_t last_ms = 0;           // Unix time of the last attempt
  std::vector<std::string> mistakes;  // of the last one, the first few
};

// What /ui and `limitree top --server` show.
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

// Belongs to the main thread.  However many look, the text is made once for
// each sample.
class Live {
 public:
  // All arguments outlive this.
  Live(const ServeSettings* settings, limitree_limiter* limiter,
       DescriptorsState* descriptors, const AdminToken* token, Loop* loop);

  void add_to(HandlerTable* handlers);

  // `denied` outlives this.
  void add_worker(const DeniedCallers* denied) { denied_.push_back(denied); }
  void loaded(Loaded what, const LoadReport& report);
  void store_answers(bool answers) { data_.store_answers = answers; }

 private:
  void sample();
  const std::string& json();

  limitree_limiter* limiter_;
  const AdminToken* token_;
  Loop* loop_;
  LimiterHandle handle_;  // outlives what waits for the store
  StoreLoop store_loop_;
  Decider decider_;
  DecisionPages pages_;
  std::vector<const DeniedCallers*> denied_;
  bool sent_;  // descriptors come from a server
  // Of the last attempts to load the limits, and descriptors alone.
  std::array<std::vector<std::string>, 2> mistakes_;
  RateHistory rates_;
  LiveData data_;
  std::string json_;  // of the last sample; empty: not made yet
  Timer next_;
};

}  // namespace limitree::server
