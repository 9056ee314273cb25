#include "stats/rate_history.hpp"

#include <algorithm>
#include <utility>

#include "limitree.hpp"

namespace limitree::server {

LimitCounts& LimitCounts::operator+=(const LimitCounts& other) {
  allowed += other.allowed;
  limited += other.limited;
  shadowed += other.shadowed;
  return *this;
}

LimitCounts LimitCounts::operator-(const LimitCounts& other) const {
  return {allowed - other.allowed, limited - other.limited,
          shadowed - other.shadowed};
}

namespace {

// Limits of a tree have "allowed", "limited" and "shadow_limited"; rules of
// Envoy count hits: "within_limit", "over_limit" and, of these, "shadow_mode".
// In a service in `shadow` all of "over_limit" are allowed.
LimitCounts counts_of(const Counters& limit, bool shadow) {
  LimitCounts counts;
  for (const auto& [counter, value] : limit.values) {
    const std::string_view name = counter->name;
    if (name == "allowed" || name == "within_limit") {
      counts.allowed += value;
    } else if (name == "shadow_limited" || (name == "over_limit" && shadow)) {
      counts.shadowed += value;
    } else if (name == "limited" || name == "over_limit") {
      counts.limited += value;
    } else if (name == "shadow_mode" && !shadow) {
      counts.shadowed += value;
      counts.limited -= value;
    }
  }
  return counts;
}

}  // namespace

void RateHistory::sample(limitree_limiter* limiter) {
  const Counters requests = totals(limiter, LIMITREE_SCOPE_REQUESTS);
  const Counters envoy = totals(limiter, LIMITREE_SCOPE_ENVOY);
  // Requests of Envoy are among these, as shadowed ones are among the allowed.
  const LimitCounts now{requests["allowed"], requests["limited"],
                        requests["shadow_limited"]};
  // Limits of earlier trees are read, too.
  const std::int64_t limits_to_read =
      std::max(requests["limits"] + envoy["metric_keys"],
               static_cast<std::int64_t>(read_.size()));
  reads_limits_ = limits_to_read <= static_cast<std::int64_t>(kMostRead);
  std::vector<Counters> limits;
  if (reads_limits_) {
    limits = counters(limiter, LIMITREE_SCOPE_LIMITS | LIMITREE_SCOPE_RULES);
  }
  shift(&all_);
  shift(&others_);
  for (Limit& limit : limits_) shift(&limit.ring);
  if (begun_) {
    all_.back() = now - last_;
    size_ = std::min(size_ + 1, kIntervals);
  }
  last_ = now;
  begun_ = true;
  is_full_ = false;
  const bool counts = std::exchange(follows_, reads_limits_);
  for (const Counters& limit : limits) {
    count(limit.label, counts_of(limit, shadow_), counts);
  }
}

void RateHistory::count(std::string_view name, const LimitCounts& now,
                        bool counts) {
  if (name.empty()) return;  // "" would be a free place
  Read& read = read_[name];
  // A limit that is new has counted all of it in this interval.
  const LimitCounts fresh = now - std::exchange(read.last, now);
  if (!counts || fresh.is_idle()) return;
  if (read.limit == kNone || limits_[read.limit].name != name) {
    read.limit = take_limit(name);
  }
  (read.limit == kNone ? others_ : limits_[read.limit].ring).back() += fresh;
}

// A free place, or that of a limit nobody has met for a whole ring; kNone if
// there is none.
std::size_t RateHistory::take_limit(std::string_view name) {
  if (limits_.size() < kMostLimits) {
    limits_.push_back({name});
    return limits_.size() - 1;
  }
  if (is_full_) return kNone;
  const auto idle = std::ranges::find_if(limits_, [](const Limit& limit) {
    return std::ranges::all_of(limit.ring, &LimitCounts::is_idle);
  });
  is_full_ = idle == limits_.end();
  if (is_full_) return kNone;
  *idle = {name};
  return static_cast<std::size_t>(idle - limits_.begin());
}

void RateHistory::shift(Ring* ring) {
  std::shift_left(ring->begin(), ring->end(), 1);
  ring->back() = {};
}

}  // namespace limitree::server
