#include "base/plan.hpp"

#include <algorithm>

namespace limitree {

namespace {

bool same_bucket(const Plan& plan, const Level& a, const Level& b) {
  const auto same = [](const Segment& x, const Segment& y) {
    return x.text == y.text && (x.kind == Segment::Kind::kPattern) ==
                                   (y.kind == Segment::Kind::kPattern);
  };
  const Segment* const segments = plan.segments.data();
  return a.depth == b.depth && a.limit->suffix == b.limit->suffix &&
         std::equal(segments + a.first, segments + a.first + a.depth,
                    segments + b.first, same);
}

}  // namespace

const char* source_name(Source source) {
  switch (source) {
    case Source::kStore:
      return "store";
    case Source::kDenyCache:
      return "deny_cache";
    case Source::kLocal:
      return "local";
    case Source::kAllow:
      return "allow";
    case Source::kDeny:
      return "deny";
  }
  return "unknown";
}

Status join_same_buckets(Plan* plan) {
  std::size_t kept = 0;
  for (const Level& level : plan->levels) {
    Level* const end = plan->levels.begin() + kept;
    Level* const first = std::find_if(
        plan->levels.begin(), end,
        [&](const Level& other) { return same_bucket(*plan, level, other); });
    if (first == end) {
      plan->levels[kept++] = level;
    } else if (first->limit == level.limit) {
      first->cost = std::max(first->cost, level.cost);
    } else {
      return Status(Code::kInvalidArgument,
                    "two paths reach the same bucket by different limits, " +
                        first->limit->policy.str() + " and " +
                        level.limit->policy.str());
    }
  }
  while (plan->levels.size() > kept) plan->levels.pop_back();
  return {};
}

}  // namespace limitree
