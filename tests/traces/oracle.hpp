// Judges a trace by what was used, and when, with arithmetic of its own.

#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "traces/limits.hpp"
#include "traces/log.hpp"

namespace limitree::traces {

struct Use {
  std::int64_t at;
  std::int64_t units;
};

// Units that are held from the instant `from` until before `end`.
struct Held {
  std::int64_t from;
  std::int64_t end;
  std::int64_t units;
};

inline std::int64_t window_of(const OneLimit& limit, std::int64_t at) {
  return at / limit.period_ns;
}

// Why the uses alone are more than the limit admits; empty if they are not.
// gcra: each interval of time has at most the burst and what drains in it.
inline std::string over_limit(const OneLimit& limit, std::vector<Use> uses) {
  std::ranges::stable_sort(uses, {}, &Use::at);
  if (limit.algorithm == Algorithm::kGcra) {
    for (std::size_t i = 0; i < uses.size(); ++i) {
      std::int64_t units = 0;
      for (std::size_t k = i; k < uses.size(); ++k) {
        units += uses[k].units;
        if ((units - limit.capacity) * limit.interval_ns >
            uses[k].at - uses[i].at) {
          return std::to_string(units) + " units used from " +
                 std::to_string(uses[i].at) + " to " +
                 std::to_string(uses[k].at);
        }
      }
    }
  } else if (limit.algorithm == Algorithm::kFixedWindow) {
    std::map<std::int64_t, std::int64_t> windows;
    for (const Use& use : uses) {
      const std::int64_t units = windows[window_of(limit, use.at)] += use.units;
      if (units > limit.capacity) {
        return std::to_string(units) + " units used in the window of " +
               std::to_string(use.at);
      }
    }
  }
  return "";
}

// Why what is used and held at one instant does not fit together.
inline std::string over_at(const OneLimit& limit, const std::vector<Use>& uses,
                           const std::vector<Held>& holds, std::int64_t now) {
  std::int64_t held = 0;
  for (const Held& hold : holds) {
    if (hold.from <= now && now < hold.end) held += hold.units;
  }
  std::int64_t used = 0;
  if (limit.algorithm == Algorithm::kGcra) {
    std::vector<Use> past;
    for (const Use& use : uses) {
      if (use.at <= now) past.push_back(use);
    }
    std::ranges::stable_sort(past, {}, &Use::at);
    std::int64_t empty_at = INT64_MIN;
    for (const Use& use : past) {
      empty_at = std::max(empty_at, use.at) + use.units * limit.interval_ns;
    }
    const std::int64_t debt = std::max(empty_at, now) - now;
    used = (debt + limit.interval_ns - 1) / limit.interval_ns;
  } else if (limit.algorithm == Algorithm::kFixedWindow) {
    for (const Use& use : uses) {
      const bool now_too = window_of(limit, use.at) == window_of(limit, now);
      if (now_too && use.at <= now) used += use.units;
    }
  }
  if (used + held <= limit.capacity) return "";
  return std::to_string(used) + " units used and " + std::to_string(held) +
         " held at " + std::to_string(now);
}

// One level of a trace.
class LevelOracle {
 public:
  LevelOracle(const Shape& shape, std::size_t level, const Trace& trace,
              const std::vector<std::int64_t>& times)
      : limit_(shape.limits[level]),
        level_(level),
        trace_(trace),
        times_(times) {}

  // Why an answer was wrong, or what was used is more than is allowed; empty if
  // all is well.
  std::string fault(Counts* counts) {
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < trace_.processes; ++i) {
        const Entry& entry = trace_.entries[round][i];
        const bool charged = has_level(entry.charged);
        if (entry.act == Act::kReserve && limit_.hold_ns > 0) {
          if (!charged) continue;
          std::string wrong = follow(round, i, counts);
          if (!wrong.empty()) return wrong;
        } else if (entry.act == Act::kReserve || entry.act == Act::kAuthorize) {
          if (charged) uses_.push_back({time_of(round), units_of(entry)});
        } else if (entry.act == Act::kSpend && charged &&
                   has_level(entry.left)) {
          // Where nothing is left, only a part of it may have been charged.
          uses_.push_back({time_of(round), units_of(entry)});
        }
      }
    }
    std::string wrong = over_limit(limit_, uses_);
    for (std::size_t i = 0; i < times_.size() && wrong.empty(); ++i) {
      wrong = over_at(limit_, uses_, holds_, times_[i]);
    }
    return wrong;
  }

  // The same for a trace of estimates that were charged, and of which the rest
  // was given back.  Their uses count when they were allowed: that is when they
  // were charged, so that without refunds nothing would be over the limit.
  bool is_over_by_refunds() const {
    std::vector<Use> uses;
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < trace_.processes; ++i) {
        const Entry& entry = trace_.entries[round][i];
        if (entry.act == Act::kNothing || !has_level(entry.charged)) continue;
        if (entry.act == Act::kSettle) {
          uses.push_back({time_of(entry.of_round), units_of(entry)});
        } else if (!entry.refunded.load(std::memory_order_relaxed) &&
                   (entry.act != Act::kSpend || has_level(entry.left))) {
          uses.push_back({time_of(round), units_of(entry)});
        }
      }
    }
    return !over_limit(limit_, uses).empty();
  }

 private:
  bool has_level(std::uint8_t bits) const { return (bits >> level_ & 1) != 0; }
  std::int64_t time_of(int round) const {
    return times_[static_cast<std::size_t>(round)];
  }
  std::int64_t units_of(const Entry& entry) const {
    return limit_.factor *
           (limit_.counts_tokens ? entry.tokens : entry.requests);
  }

  // What became of one reservation.  Only one process extends it in a round, so
  // its end is known.
  std::string follow(int made, int maker, Counts* counts) {
    const Entry& reserved = trace_.entries[made][maker];
    const std::int64_t held = units_of(reserved);
    std::int64_t end = time_of(made) + (reserved.hold_ns > 0 ? reserved.hold_ns
                                                             : limit_.hold_ns);
    std::optional<std::int64_t> settled;
    for (int round = made + 1; round < kRounds; ++round) {
      const std::int64_t now = time_of(round);
      const bool is_open = !settled && now < end;
      int tries = 0;
      int successes = 0;
      std::int64_t next_end = end;
      for (int i = 0; i < trace_.processes; ++i) {
        const Entry& entry = trace_.entries[round][i];
        if (entry.act != Act::kSettle && entry.act != Act::kExtend) continue;
        if (entry.of_round != made || entry.of_process != maker) continue;
        const bool done = has_level(entry.charged);
        counts->too_late += done ? 0 : 1;
        if (done && !is_open)
          return "round " + std::to_string(round) +
                 ": was over, and was settled or extended";
        if (entry.act == Act::kExtend) {
          if (done) next_end = now + entry.hold_ns;
          if (is_open && !done) ++tries;  // somebody else has settled it
          continue;
        }
        ++tries;
        if (!done) continue;
        ++successes;
        ++counts->settled;
        settled = now;
        if (limit_.algorithm == Algorithm::kConcurrent) continue;
        const std::int64_t asked = units_of(entry);
        uses_.push_back({now, asked < 0 ? held : asked});
      }
      if (successes > 1) {
        return "round " + std::to_string(round) + ": settled twice";
      }
      if (is_open && tries > 0 && successes == 0) {
        return "round " + std::to_string(round) + ": lost before its end";
      }
      end = next_end;
    }
    holds_.push_back(
        {time_of(made), settled ? std::min(*settled, end) : end, held});
    if (settled) return "";
    ++counts->forgotten;
    if (!limit_.frees) uses_.push_back({end, held});
    return "";
  }

  const OneLimit& limit_;
  const std::size_t level_;
  const Trace& trace_;
  const std::vector<std::int64_t>& times_;
  std::vector<Use> uses_;
  std::vector<Held> holds_;
};

}  // namespace limitree::traces
