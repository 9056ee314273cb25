// The question to a store about one request, and its answer.
//
// The tree fills in segments and levels, the store the debt of each level,
// judge() the verdicts.  A plan borrows the caller's segments and the tree's
// limits, and lives no longer than the request.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/gcra.hpp"
#include "base/hold.hpp"
#include "base/inline_vector.hpp"
#include "base/lease.hpp"
#include "base/limit.hpp"
#include "base/status.hpp"

namespace limitree {

// The most paths of one request, and levels of all its paths.  A larger request
// would delay all others: a script runs on the Redis server as one step.
inline constexpr std::size_t kMaxPaths = 4096;
inline constexpr std::size_t kMaxLevels = 4096;  // of all paths, before they
                                                 // are joined

enum class Operation : std::uint8_t {
  kAuthorize,
  kPeek,
  kSpend,
  kRefund,
  kLook,     // a kPeek from outside: see Plan::only_looks
  kReserve,  // a kAuthorize that holds where limits can
  kSettle,   // ends a hold, and charges what was used: Plan::reservation
  kExtend,   // sets the end of a hold
};

// Whether the request takes units if all levels agree.
constexpr bool is_asked(Operation operation) {
  return operation == Operation::kAuthorize || operation == Operation::kReserve;
}

// Whether it concerns a hold that was made earlier.
constexpr bool is_about_hold(Operation operation) {
  return operation == Operation::kSettle || operation == Operation::kExtend;
}

// Who decided: the store, or a substitute.
enum class Source : std::uint8_t {
  kStore,
  kDenyCache,  // an earlier denial of the store still holds
  // The store has failed, and on_store_error says:
  kLocal,  // decide in this process's memory
  kAllow,
  kDeny,
  kLease,  // this process has taken units of all levels before
};
inline constexpr std::size_t kSourceCount = 6;

const char* source_name(Source source);  // "deny_cache"

// One path segment as it stands in bucket names.
struct Segment {
  enum class Kind : std::uint8_t {
    kExact,    // named by the tree, where no other name could stand
    kCaller,   // matched by a "*", a pattern or a network, or beside one
    kPattern,  // the text of a pattern whose matches share one bucket
  };
  std::string_view text;
  Kind kind;
};

// The answers of a bucket that is not plain GCRA: one in case it is charged,
// and one in case it is not.  All levels together decide which of them holds.
//
// Every algorithm answers the same questions: how much of the bucket is used,
// and, if nothing else is charged, when it is full again, when an identical
// request would fit, and when one more unit is left.  judge() makes a Verdict
// of that.
struct Usage {
  struct Side {
    std::int64_t used;     // units, above the capacity too
    Duration full_after;   // until nothing is used
    Duration fits_after;   // until an identical request fits, or kNever
    Duration grows_after;  // until one more unit is left; see wants_growth
  };

  bool fits;
  bool never;    // the cost exceeds the ceiling
  bool changes;  // the bucket is not the same after the charge
  bool ahead;    // its state was dated after now, and counts as of now
  bool crowded;  // there is no room for one more hold
  // Holds that have ended since, and are written as such now.
  std::uint32_t ended;
  Side left;     // if the bucket is left as it is
  Side charged;  // if it is charged, or given back to
};

// One limit on the way down the tree, and its bucket.
struct Level {
  const Limit* limit;
  std::uint32_t first;  // the bucket's name starts at segments[first] ...
  std::uint32_t depth;  // ... takes this many, and then limit->suffix
  std::int64_t cost;    // tokens asked for here: request's cost x limit's cost;
                        // kAsHeld in a kSettle
  Duration debt;        // TAT - now, not clamped; set by the store, if plain
  const Usage* usage;   // the store's, until judge() has seen it; if not plain
  Mode mode;            // of the limit, and of the path's part
  bool applied;         // verdict counts this level's charge; set by judge()
  bool again;           // an earlier level of the plan has the same bucket
  bool crowded;         // that of Usage
  std::uint32_t path;   // which of a request's paths met it first; from 0
  Verdict verdict;      // set by judge()
  Duration growth;      // the same, if not plain; see grows_after()
  std::int64_t before;  // the same: units in use before the request
  std::uint32_t ended;  // that of Usage
};

// A hold that a request has found.
struct FoundHold {
  std::size_t level;  // its index in the plan
  HoldId id;
  std::int64_t units;
  Duration ends_after;
};

struct Plan {
  explicit Plan(Operation op)
      : operation(op == Operation::kLook ? Operation::kPeek : op),
        only_looks(op == Operation::kLook) {}

  // Appends a level; store and judge() set the rest of it.
  void add_level(const Limit* limit, std::uint32_t first, std::uint32_t depth,
                 std::int64_t cost) {
    Level& level = levels.append();
    level.limit = limit;
    level.first = first;
    level.depth = depth;
    level.cost = cost;
    level.usage = nullptr;  // judge() asserts that the store sets it
    level.mode = limit->mode;
    level.again = false;
    level.crowded = false;
    level.ended = 0;
    level.path = 0;
  }

  Operation operation;  // never kLook

  Reservation reservation;  // of kReserve, kSettle and kExtend

  // Whether not even buckets that is_held() names are written: the limits may
  // differ from those of the processes that use the buckets.
  bool only_looks;

  // What a kAuthorize charges for requests that are to come.  Only levels that
  // can_lease(); the verdicts are those of the request alone.
  LeaseAsk lease;

  // Where such a request lists the holds that it finds, those of a level in the
  // order of their ends; null: it does not.
  std::vector<FoundHold>* found = nullptr;

  Source source =
      Source::kStore;  // set by whatever decides in place of the store

  // Whether the store fails instead of waiting.  Such a failure has no other
  // effect: the request is then decided again, later or without this flag.
  bool at_once = false;
  // When it began to wait in a loop, by the steady clock; 0: it does not wait.
  Duration waits_since{};

  // Whether something other than these levels denies the request.  Then levels
  // that need the approval of all levels are not charged: see is_joint().  Set
  // by callers that know it before they ask a store, and by a store that
  // decides in several calls.
  bool denied = false;

  // Of a kRefund: gives back what a charge of that instant has left, by the
  // clock of the store.  What time has given back already stays gone, so that
  // no more is admitted than without the charge.  Set by such a store.
  std::optional<Instant> charged_at;

  // Whether a caller at a limit was forgotten to make room for this request.
  // Set by a store that is full of such callers.
  bool forgot = false;

  // Replacements of the limits, by Limit::index, while this process decides
  // alone; null: the limits themselves.
  const Limit* local_limits = nullptr;

  // Whether plain GCRA decides every level.
  bool all_plain() const {
    bool plain = true;
    for (const Level& level : levels) plain &= level.limit->is_plain();
    return plain;
  }

  std::int32_t pressure = kFullPressure;  // of this process; see ceiling_of()
  bool wants_growth = false;  // whether grows_after() will be asked for

  InlineVector<Segment, 12> segments;  // of all paths, one after the other
  InlineVector<Level, 6> levels;       // from the root to the leaf

  // Keeps a copy of `text` as long as the plan lives, for segments that differ
  // from what the caller passed, such as canonical addresses.
  std::string_view keep(std::string_view text) {
    if (text.size() > sizeof room_ - used_) {
      return kept_.emplace_front(text);
    }
    char* const place = room_ + used_;
    text.copy(place, text.size());
    used_ += text.size();
    return {place, text.size()};
  }

 private:
  char room_[64];  // an address with its prefix, or two
  std::size_t used_ = 0;
  std::forward_list<std::string> kept_;
};

// Leaves the levels of *plan that are `wanted`, in their order.
template <typename Wanted>
void keep_levels(Plan* plan, Wanted wanted) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < plan->levels.size(); ++i) {
    if (!wanted(plan->levels[i])) continue;
    if (count != i) plan->levels[count] = plan->levels[i];
    ++count;
  }
  plan->levels.resize(count);
}

// Returns cost x factor, or INT64_MAX on overflow, which also exceeds every
// capacity.  REQUIRES: both >= 0.
constexpr std::int64_t saturating_cost(std::int64_t cost, std::int64_t factor) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(cost, factor, &product) ? INT64_MAX : product;
}

// Returns a + b, or INT64_MAX on overflow.  REQUIRES: both >= 0.
constexpr std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  return a > INT64_MAX - b ? INT64_MAX : a + b;
}

// Whether units of all levels of an allowed request can be leased: each
// enforced by a limit that says so, and charged only with all others.
bool can_lease(const Plan& plan);

// What a request of one unit adds to a bucket: nanoseconds of debt, or units of
// a window.
std::int64_t leased_unit(const Limit& limit);

// How many requests of one unit more than `plan`, which was judged, there is
// room for at every level, by plan.lease.  REQUIRES: can_lease().
std::int64_t units_to_lease(const Plan& plan);

// Orders the names of buckets arbitrarily; 0: the names are equal.
int compare_names(std::span<const Segment> a, std::span<const Segment> b);

// For each level of a plan before its levels were joined, the first level that
// has its bucket now.
using JoinedInto = InlineVector<std::uint32_t, 24>;

// Whether levels of `plan` that share a bucket stay apart, because each of them
// may deny by itself: see Level::again.
constexpr bool stay_apart(const Plan& plan, Charge charge) {
  return charge == Charge::kAllOrDenying &&
         (is_asked(plan.operation) || plan.operation == Operation::kPeek);
}

// Joins the levels of *plan that share a bucket into the first of them, with
// the largest cost and the union of their modes; if costs that do not fit count
// too, with the sum of their costs.  Those that stay_apart() are only marked.
// *into, unless null, is set to where they are.  kInvalidArgument if they
// belong to different limits, unless costs that do not fit count: then the
// largest limit stands for all.
Status join_same_buckets(Plan* plan, JoinedInto* into = nullptr);

// The units in use after a hit of `cost` under Charge::kEveryHit, even above
// kMaxUnits, for callers that answer each hit by itself.  Two hits of a request
// may reach one bucket, whose level then has the sum of their costs:
// join_same_buckets().  So the hit comes after earlier hits of the same
// request, which cost `earlier` in all.
// REQUIRES: `level` is of an operation that does not refund, and was judged.
constexpr std::int64_t used_after_hit(const Level& level, std::int64_t earlier,
                                      std::int64_t cost) {
  return saturating_sum(saturating_sum(level.before, earlier), cost);
}

}  // namespace limitree
