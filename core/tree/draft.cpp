#include "tree/draft.hpp"

#include <chrono>
#include <cmath>
#include <map>
#include <utility>

#include "text/number.hpp"

namespace limitree {

namespace {

// How long an empty bucket takes to fill, before anything is rounded.
double time_to_fill(const Limit& limit) {
  const auto period = static_cast<double>(limit.period.count());
  if (traits_of(limit.algorithm).kept != Kept::kTat) return period;
  const std::int64_t most = 100 + (limit.rules ? limit.rules->overrun : 0);
  return period / static_cast<double>(limit.count) *
         static_cast<double>(limit.rate.capacity) * static_cast<double>(most) /
         100;
}

std::string words_for(const Limit& limit) {
  const std::chrono::duration<double, std::nano> time(time_to_fill(limit));
  std::string words = format_duration(std::chrono::round<Duration>(time)) +
                      " by " + traits_of(limit.algorithm).rule;
  if (!limit.unit.empty()) words += " in " + limit.unit.str();
  if (limit.holds()) words += " with hold";
  return words;
}

bool may_be_tiers(const Limit& a, const Limit& b) {
  constexpr double kRounded = 1e-9;
  const double one = time_to_fill(a);
  return a.algorithm == b.algorithm && a.unit == b.unit &&
         a.holds() == b.holds() &&
         std::abs(one - time_to_fill(b)) <= kRounded * one;
}

}  // namespace

LimitRange limits_of(const Merged& merged) {
  for (std::size_t i = 0; i < merged.layers.size(); ++i) {
    if (i == merged.own && merged.override_limits) {
      return *merged.override_limits;
    }
    if (merged.layers[i]->limits_stated) return merged.layers[i]->limits;
  }
  return {kNoIndex, 0};
}

void check_tiers(const MergedList& tiers,
                 std::span<const LoadedOverrides* const> files,
                 const Nodes& nodes, Problems* problems) {
  // By the names of limits, which distinguish buckets.
  std::map<std::string_view, std::pair<const Limit*, std::string_view>> firsts;
  const auto check = [&](std::string_view name, Mark mark, LimitRange limits) {
    for (std::uint32_t i = 0; i < limits.count; ++i) {
      const Limit& limit = nodes.limits[limits.first + i];
      const auto [place, added] =
          firsts.try_emplace(limit.name.view(), &limit, name);
      const auto& [first, of] = place->second;
      if (added || may_be_tiers(*first, limit)) continue;
      problems->add(mark,
                    "the limits of tiers have one bucket, so each must have "
                    "the same algorithm, time to fill, unit, and hold or "
                    "none: " +
                        quote(of) + " takes " + words_for(*first) + ", " +
                        quote(name) + " " + words_for(limit));
    }
  };
  for (const Merged& tier : tiers) {
    check(tier.name, tier.first().mark, limits_of(tier));
  }
  for (const LoadedOverrides* file : files) {
    for (const LimitRange limits : file->limits) {
      check(file->draft->overrides, file->draft->overrides_mark, limits);
    }
  }
}

}  // namespace limitree
