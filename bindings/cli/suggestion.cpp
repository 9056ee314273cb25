#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "suggest.hpp"

namespace limitree::cli {

namespace {

// How often each value came.  Most are small.
class Tally {
 public:
  void add(std::int64_t value) {
    ++total_;
    if (value < kSmall) {
      ++small_[static_cast<std::size_t>(value)];
    } else {
      ++large_[value];
    }
  }

  // The smallest value that at most `above` values exceed.
  std::int64_t exceeded_by(std::int64_t above) const {
    std::int64_t left = total_;
    for (std::size_t i = 0; i < small_.size(); ++i) {
      left -= small_[i];
      if (left <= above) return static_cast<std::int64_t>(i);
    }
    for (const auto& [value, times] : large_) {
      left -= times;
      if (left <= above) return value;
    }
    return 0;
  }

  std::int64_t above(std::int64_t limit) const {
    std::int64_t count = total_;
    for (std::int64_t i = 0; i < std::min(limit + 1, kSmall); ++i) {
      count -= small_[static_cast<std::size_t>(i)];
    }
    for (const auto& [value, times] : large_) {
      if (value > limit) break;
      count -= times;
    }
    return count;
  }

  // The value at a rank of `of` parts: of the smallest values that are at least
  // part / of of all, the largest.
  std::int64_t percentile(std::int64_t part, std::int64_t of) const {
    return exceeded_by(total_ - (total_ * part + of - 1) / of);
  }

 private:
  static constexpr std::int64_t kSmall = 1024;

  std::int64_t total_ = 0;
  std::vector<std::int64_t> small_ =
      std::vector<std::int64_t>(static_cast<std::size_t>(kSmall));
  std::map<std::int64_t, std::int64_t> large_;
};

// The least limit whose burst is no more than its count.  With a lower count,
// callers would live on a burst that the next period does not give back, which
// goes well only until the log ends.
const TriedLimit* best(const std::vector<TriedLimit>& outcomes) {
  const auto found = std::find_if(
      outcomes.begin(), outcomes.end(), [](const TriedLimit& outcome) {
        return outcome.burst && *outcome.burst <= outcome.count;
      });
  return found == outcomes.end() ? nullptr : &*found;
}

std::optional<std::int64_t> finite(std::int64_t burst) {
  if (burst == UseMeter::kNever) return std::nullopt;
  return burst;
}

// What all callers need.
struct Needs {
  explicit Needs(const Candidates& candidates)
      : bursts(candidates.limits.size()),
        busiest(candidates.periods_ns.size()),
        limited(candidates.limits.size()) {}

  void add(const UseMeter& meter) {
    for (std::size_t i = 0; i < bursts.size(); ++i) {
      bursts[i].add(meter.burst(i));
      limited[i] += meter.limited(i);
    }
    for (std::size_t i = 0; i < busiest.size(); ++i) {
      busiest[i].add(meter.busiest(i));
    }
  }

  PeriodUse period_use(const Candidates& candidates, std::size_t period,
                       std::int64_t allowed) const {
    const Tally& use = busiest[period];
    PeriodUse found{candidates.periods_ns[period],
                    use.percentile(50, 100),
                    use.percentile(90, 100),
                    use.percentile(99, 100),
                    use.percentile(999, 1000),
                    use.percentile(1, 1),
                    {},
                    {}};
    const std::size_t first = period * Candidates::kPerPeriod;
    for (std::size_t i = first; i < first + Candidates::kPerPeriod; ++i) {
      const std::int64_t count = candidates.limits[i].count;
      found.outcomes.push_back(
          {count, bursts[i].above(count), limited[i],
           finite(std::max<std::int64_t>(bursts[i].exceeded_by(allowed), 1))});
    }
    if (const TriedLimit* const outcome = best(found.outcomes)) {
      const auto at = static_cast<std::size_t>(outcome - found.outcomes.data());
      found.proposal = Proposal{outcome->count, *outcome->burst,
                                bursts[first + at].above(*outcome->burst)};
    }
    return found;
  }

  std::vector<Tally> bursts;          // by candidate
  std::vector<Tally> busiest;         // by period
  std::vector<std::int64_t> limited;  // requests, by candidate
};

// Sets the outliers of a suggestion whose periods are there.
void find_outliers(const CallerTable& callers, const Candidates& candidates,
                   std::size_t top, Suggestion* suggestion) {
  const std::optional<Proposal>& proposal = suggestion->proposal();
  if (!proposal) return;
  const std::size_t period = suggestion->chosen;
  std::size_t limit = period * Candidates::kPerPeriod;
  while (candidates.limits[limit].count != proposal->count) ++limit;
  const std::int64_t far = suggestion->periods[period].p90 * Suggestion::kFar;
  std::vector<Outlier>* const outliers = &suggestion->outliers;
  // The one that needs least is in front.
  const auto before = [](const Outlier& a, const Outlier& b) {
    const auto rank = [](const Outlier& one) {
      return std::tuple(one.limited, one.burst.value_or(UseMeter::kNever),
                        one.busiest, one.requests);
    };
    return std::tuple(rank(b), a.name) < std::tuple(rank(a), b.name);
  };
  UseMeter scratch(&candidates);
  callers.for_each([&](const CallerTable::Caller& caller) {
    // A caller needs no more burst, and is no busier, than it has requests.
    const std::int64_t requests = caller.use.requests();
    if (requests <= std::min(proposal->burst, far)) return;
    const UseMeter& meter = caller.use.meter(&scratch);
    const std::int64_t burst = meter.burst(limit);
    const bool limited = burst > proposal->burst;
    if (!limited && meter.busiest(period) <= far) return;
    ++suggestion->outlier_count;
    if (top == 0) return;
    Outlier outlier{caller.name, requests, meter.busiest(period), finite(burst),
                    limited};
    if (outliers->size() == top) {
      if (!before(outlier, outliers->front())) return;
      std::pop_heap(outliers->begin(), outliers->end(), before);
      outliers->pop_back();
    }
    outliers->push_back(std::move(outlier));
    std::push_heap(outliers->begin(), outliers->end(), before);
  });
  std::sort(outliers->begin(), outliers->end(), before);
}

}  // namespace

Suggestion make_suggestion(const CallerTable& callers,
                           const Candidates& candidates,
                           const SuggestOptions& options, std::size_t chosen) {
  Suggestion made;
  made.requests = callers.requests();
  made.kept = static_cast<std::int64_t>(callers.size());
  made.sampled = callers.sampled();
  made.allowed_callers = made.kept * options.limited_share / kWholeShare;
  made.chosen = chosen;
  Needs needs(candidates);
  UseMeter scratch(&candidates);
  callers.for_each([&](const CallerTable::Caller& caller) {
    needs.add(caller.use.meter(&scratch));
    made.kept_requests += caller.use.requests();
  });
  for (std::size_t i = 0; i < candidates.periods_ns.size(); ++i) {
    made.periods.push_back(
        needs.period_use(candidates, i, made.allowed_callers));
  }
  find_outliers(callers, candidates, options.top, &made);
  return made;
}

}  // namespace limitree::cli
