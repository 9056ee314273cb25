// A bucket that holds units for costs that are not known yet.
//
// Held units count as used until they are settled.  What nobody settles is
// charged as of the end of its hold, or is free then.  So how much is used only
// falls while no request comes, and when a request would fit can be found by
// following the ends of the holds.
//
// Many holds are followed in pages.  GCRA charges a hold of u units that ends
// at t by
//
//   tat -> min(max(tat, t) + T u, t + BO)
//
// and such functions can be joined: each of them is min(max(tat, a) + b, c).

#pragma once

#include <cstdint>

#include "base/calendar.hpp"
#include "base/demand.hpp"
#include "base/hold.hpp"
#include "base/limit.hpp"
#include "base/time.hpp"

namespace limitree {

// What the ends of several holds do to GCRA.
struct HoldSummary {
  std::int64_t units = 0;
  Instant from = Instant::min();  // a
  Duration more{};                // b
  Instant most = Instant::max();  // c

  // Adds a hold that ends after them.
  void add(const Hold& hold, const Rate& rate);

  Instant after(Instant tat) const {
    return std::min(saturating_add(std::max(tat, from), more), most);
  }
};

inline constexpr std::uint32_t kPageHolds = 32;

// The holds of a bucket, in the order of their ends.
struct HoldView {
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Returns the place of a hold, or kNone.
  std::uint32_t find(const HoldId& id) const;

  const Hold* holds = nullptr;
  const HoldSummary* pages = nullptr;  // of kPageHolds each; null: unknown
  std::uint32_t first = 0;             // first place in use
  std::uint32_t end = 0;               // behind the last
  std::uint32_t count = 0;             // of holds with units
  std::int64_t units = 0;              // their sum
};

// What a bucket has stored besides its holds.
struct HeldState {
  Instant tat = kLongAgo;     // of gcra
  FixedWindow::State window;  // of fixed_window
};

// A bucket at one instant: what has ended before is charged.  See demand.hpp.
class HeldBucket {
 public:
  HeldBucket(const Limit& limit, const HeldState& state, const HoldView& view,
             Instant now);

  std::int64_t used() const { return used_in(course_); }
  Instant until(std::int64_t most) const;
  void add(std::int64_t units) {
    charge(units, now_, &course_.state);
    followed_ = false;
  }
  bool remove(std::int64_t units);
  bool is_ahead() const { return ahead_; }

  // Whether requests hold what they take.
  bool holds() const { return limit_.holds(); }
  // Holds `hold.units` more.
  void hold(const Hold& hold);
  // Ends the hold at that place of view(), and charges what was used.
  void settle(std::uint32_t place, std::int64_t units);
  // Moves its end.
  void extend(std::uint32_t place, Instant end);

  const HeldState& state() const { return course_.state; }
  std::int64_t held() const { return course_.held; }
  // What was stored, without what has ended.
  const HoldView& view() const { return view_; }
  // The hold that is new, with units, and the place of the one that is gone, or
  // HoldView::kNone.
  const Hold& added() const { return added_; }
  std::uint32_t gone() const { return gone_; }

 private:
  // The bucket at a later time, if nobody comes.
  struct Course {
    HeldState state;
    std::int64_t held;
    Instant at;
  };

  Window window_at(Instant at) const;
  void roll(Instant at, FixedWindow::State* state) const;
  void charge(std::int64_t units, Instant at, HeldState* state) const;
  std::int64_t used_in(const Course& course) const;
  bool fits_in(const Course& course, std::int64_t most) const;
  bool ends_last(std::int64_t most) const;
  Instant alone_until(const Course& course, std::int64_t most) const;
  void pass(const Hold& hold, Course* course) const;
  void pass_page(std::uint32_t begin, std::uint32_t end, Course* course) const;
  bool is_whole(std::uint32_t begin, std::uint32_t end, bool adds) const;

  const Limit& limit_;
  const Instant now_;
  HoldView view_;
  Course course_;
  Hold added_;
  std::uint32_t gone_ = HoldView::kNone;
  bool ahead_ = false;
  // The course after the end of all holds but the added one, if until() has
  // followed them.
  mutable Course last_;
  mutable bool followed_ = false;
};

// How apply() of demand.hpp takes units.
inline bool apply(const Demand& demand, HeldBucket* bucket) {
  if (demand.operation == Operation::kRefund) {
    return bucket->remove(demand.cost);
  }
  const bool looks = demand.operation == Operation::kPeek;
  if (bucket->holds() && (looks || demand.operation == Operation::kReserve)) {
    bucket->hold({demand.reservation.id,
                  saturating_add(demand.now, demand.reservation.hold),
                  demand.cost});
    return true;
  }
  const std::int64_t units = demand.operation == Operation::kSpend
                                 ? room_to_spend(demand, bucket->used())
                                 : demand.cost;
  if (units > 0) bucket->add(units);
  return units > 0;
}

}  // namespace limitree
