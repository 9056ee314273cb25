#include "base/plan.hpp"

#include <array>

namespace limitree {

namespace {

// Up to this many levels are compared pairwise.  More are sorted, so that the
// cost of a large request does not grow with the square of its levels.
constexpr std::size_t kFew = 24;

std::int64_t joint_cost(const Level& a, const Level& b) {
  return counts_denied(a.limit->charge) ? saturating_sum(a.cost, b.cost)
                                        : std::max(a.cost, b.cost);
}

// Whether one level can stand for both limits of a bucket.  Where every hit
// counts, a counter of hits serves any limit of the same window: the caller
// compares each of them with used_after_hit().
bool may_share(const Limit& a, const Limit& b) {
  if (&a == &b) return true;
  return counts_denied(a.charge) && a.charge == b.charge &&
         a.period == b.period;
}

// Makes `level` a part of *first.
void join_into(const Plan& plan, const Level& level, Level* first) {
  first->cost = joint_cost(*first, level);
  first->mode = join(first->mode, level.mode);
  if (ceiling_of(*level.limit, plan.pressure) >
      ceiling_of(*first->limit, plan.pressure)) {
    first->limit = level.limit;
  }
}

// Orders levels by the names of their buckets; 0: they have the same bucket.
int compare_buckets(const Plan& plan, const Level& a, const Level& b) {
  if (a.depth != b.depth) return a.depth < b.depth ? -1 : 1;
  const Segment* const segments = plan.segments.data();
  const int names = a.first == b.first
                        ? 0
                        : compare_names({segments + a.first, a.depth},
                                        {segments + b.first, b.depth});
  return names != 0 ? names
                    : a.limit->suffix.view().compare(b.limit->suffix.view());
}

// For each level, the first level with the same bucket; often itself.
using FirstOf = JoinedInto;

void compare_each(const Plan& plan, FirstOf* first_of) {
  for (std::uint32_t i = 0; i < plan.levels.size(); ++i) {
    std::uint32_t first = 0;
    while (first < i &&
           compare_buckets(plan, plan.levels[i], plan.levels[first]) != 0) {
      ++first;
    }
    first_of->push_back(first);
  }
}

void compare_sorted(const Plan& plan, FirstOf* first_of) {
  InlineVector<std::uint32_t, kFew> order;
  for (std::uint32_t i = 0; i < plan.levels.size(); ++i) order.push_back(i);
  const auto compare = [&](std::uint32_t a, std::uint32_t b) {
    return compare_buckets(plan, plan.levels[a], plan.levels[b]);
  };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const int found = compare(a, b);
    return found != 0 ? found < 0 : a < b;
  });
  first_of->resize(order.size());
  std::uint32_t first = order[0];
  for (const std::uint32_t level : order) {
    if (compare(first, level) != 0) first = level;
    (*first_of)[level] = first;
  }
}

}  // namespace

const char* source_name(Source source) {
  // In the order of the enumerators.
  constexpr std::array<const char*, kSourceCount> kNames = {
      "store", "deny_cache", "local", "allow", "deny", "lease"};
  return kNames[static_cast<std::size_t>(source)];
}

bool can_lease(const Plan& plan) {
  if (plan.operation != Operation::kAuthorize || plan.denied ||
      plan.levels.empty() || plan.levels.size() > kMaxLeasedLevels) {
    return false;
  }
  for (const Level& level : plan.levels) {
    const Limit& limit = *level.limit;
    const bool alone = plan.levels.size() == 1;
    const bool joint = limit.charge == Charge::kAllOrNothing ||
                       (alone && limit.charge == Charge::kIndependent);
    if (!limit.is_leased() || level.cost <= 0 || limit.cost <= 0 ||
        level.mode != Mode::kEnforce || level.again || !joint) {
      return false;
    }
  }
  return true;
}

std::int64_t leased_unit(const Limit& limit) {
  if (!limit.is_plain()) return limit.cost;
  return saturating_cost(limit.rate.emission_interval.count(), limit.cost);
}

std::int64_t units_to_lease(const Plan& plan) {
  std::int64_t units = std::min(plan.lease.most, kMaxLeased);
  for (const Level& level : plan.levels) {
    const Limit& limit = *level.limit;
    if (level.verdict.limited) return 0;
    const std::int64_t free =
        limit.is_plain()
            ? (limit.rate.burst_offset() - level.verdict.reset_after).count()
            : level.verdict.remaining;
    units = leased_units(free, leased_unit(limit), plan.lease.parts, units);
  }
  return units;
}

int compare_names(std::span<const Segment> a, std::span<const Segment> b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const bool pattern = a[i].kind == Segment::Kind::kPattern;
    if (pattern != (b[i].kind == Segment::Kind::kPattern)) {
      return pattern ? 1 : -1;
    }
    const std::string_view left = a[i].text;
    const std::string_view right = b[i].text;
    if (left.size() != right.size()) return left.size() < right.size() ? -1 : 1;
    const int texts = left.compare(right);
    if (texts != 0) return texts;
  }
  return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}

Status join_same_buckets(Plan* plan, JoinedInto* into) {
  FirstOf here;
  FirstOf& first_of = into != nullptr ? *into : here;
  first_of.clear();
  if (plan->levels.empty()) return {};
  if (plan->levels.size() <= kFew) {
    compare_each(*plan, &first_of);
  } else {
    compare_sorted(*plan, &first_of);
  }
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < plan->levels.size(); ++i) {
    Level& level = plan->levels[i];
    if (first_of[i] == i) {
      first_of[i] = kept;  // its place from now on
      plan->levels[kept++] = level;
      continue;
    }
    first_of[i] = first_of[first_of[i]];
    Level& first = plan->levels[first_of[i]];
    if (!may_share(*first.limit, *level.limit)) {
      return Status(Code::kInvalidArgument,
                    "two paths reach the same bucket by different limits, " +
                        first.limit->policy.str() + " and " +
                        level.limit->policy.str());
    }
    if (stay_apart(*plan, level.limit->charge)) {
      level.again = true;
      plan->levels[kept++] = level;
    } else {
      join_into(*plan, level, &first);
    }
  }
  plan->levels.resize(kept);
  return {};
}

}  // namespace limitree
