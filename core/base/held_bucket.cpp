#include "base/held_bucket.hpp"

#include <algorithm>

namespace limitree {

namespace {

Duration times(Duration interval, std::int64_t units) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(interval.count(), units, &product)
             ? Duration::max()
             : Duration(product);
}

// A hold that seems to end later is from a clock that has been set back since.
// An hour more, for clocks that are set back a little.
constexpr Duration kLongest = kMaxHold + std::chrono::hours(1);

Duration sum(Duration a, Duration b) {
  std::int64_t total = 0;
  return __builtin_add_overflow(a.count(), b.count(), &total) ? Duration::max()
                                                              : Duration(total);
}

// A damaged file may say any number.
constexpr std::int64_t kMostHeld = 4 * kMaxUnits;
constexpr std::int64_t sound(std::int64_t units) {
  return std::clamp(units, std::int64_t{0}, kMostHeld);
}

}  // namespace

// min(max(y, t) + s, t + BO), of y = min(max(tat, from) + more, most).
void HoldSummary::add(const Hold& hold, const Rate& rate) {
  const std::int64_t held = sound(hold.units);
  const Duration charge =
      rate.emission_interval * std::min(held, rate.capacity);
  const Instant full = saturating_add(hold.end, rate.burst_offset());
  units = sound(units) + held;
  from = std::max(from,
                  saturating_add(hold.end, -std::max(more, Duration::zero())));
  most = std::min(saturating_add(std::max(most, hold.end), charge), full);
  more = sum(more, charge);
}

std::uint32_t HoldView::find(const HoldId& id) const {
  for (std::uint32_t i = first; i < end; ++i) {
    if (holds[i].id.low == id.low && holds[i].id.high == id.high &&
        holds[i].units > 0) {
      return i;
    }
  }
  return kNone;
}

HeldBucket::HeldBucket(const Limit& limit, const HeldState& state,
                       const HoldView& view, Instant now)
    : limit_(limit), now_(now), view_(view), course_{state, view.units, now} {
  FixedWindow::State& window = course_.state.window;
  const bool counts = limit.algorithm == Algorithm::kFixedWindow;
  // holds.json has it so: what ends while a window has no units counts in the
  // window of the next request.
  if (counts && window.units == 0) window.start = window_at(now).start;
  const auto book = [this](Hold ended) {
    if (ended.units == 0) return;
    pass(ended, &course_);
    --view_.count;
    view_.units -= sound(ended.units);
  };
  while (view_.first < view_.end && view_.holds[view_.first].end <= now) {
    book(view_.holds[view_.first++]);
  }
  const Instant latest = saturating_add(now, kLongest);
  while (view_.first < view_.end && view_.holds[view_.end - 1].end > latest) {
    Hold far = view_.holds[--view_.end];
    far.end = now;
    book(far);
    view_.pages = nullptr;  // they have these holds, too
  }
  if (view_.first == view_.end) {  // whatever a damaged file says
    view_.count = 0;
    view_.units = course_.held = 0;
  }
  course_.at = now;
  if (counts) {
    const FixedWindow today(window, window_at(now));
    ahead_ = today.is_ahead();
    window = today.state();
  } else {
    ahead_ = saturating_sub(course_.state.tat, now) > limit.rate.burst_offset();
    if (ahead_) {
      course_.state.tat = saturating_add(now, limit.rate.burst_offset());
    }
  }
}

Window HeldBucket::window_at(Instant at) const {
  return limit_.rules->align == Align::kCalendar
             ? limit_.rules->calendar->window_at(at)
             : epoch_window(at, limit_.period);
}

void HeldBucket::roll(Instant at, FixedWindow::State* state) const {
  const Instant start = window_at(at).start;
  if (start > state->start) *state = {start, 0};
}

void HeldBucket::charge(std::int64_t units, Instant at,
                        HeldState* state) const {
  const Rate& rate = limit_.rate;
  if (limit_.algorithm == Algorithm::kGcra) {
    HoldSummary one;
    one.add({{}, at, units}, rate);
    state->tat = one.after(state->tat);
  } else if (limit_.algorithm == Algorithm::kFixedWindow) {
    roll(at, &state->window);
    state->window.units = std::max(
        state->window.units,
        std::min(saturating_sum(state->window.units, units), rate.capacity));
  }
}

std::int64_t HeldBucket::used_in(const Course& course) const {
  std::int64_t used = 0;
  if (limit_.algorithm == Algorithm::kGcra) {
    used = Overdraft(course.state.tat, limit_.rate.emission_interval,
                     limit_.rate.capacity, course.at)
               .used();
  } else if (limit_.algorithm == Algorithm::kFixedWindow) {
    used = course.state.window.units;
  }
  return saturating_sum(used, course.held);
}

// Whether used_in() <= most, without a division.
bool HeldBucket::fits_in(const Course& course, std::int64_t most) const {
  if (course.held > most) return false;
  if (limit_.algorithm == Algorithm::kGcra) {
    return course.state.tat <=
           saturating_add(course.at, times(limit_.rate.emission_interval,
                                           most - course.held));
  }
  return limit_.algorithm == Algorithm::kConcurrent ||
         course.state.window.units <= most - course.held;
}

// When at most `most` units are in use if no hold ends before.
Instant HeldBucket::alone_until(const Course& course, std::int64_t most) const {
  if (fits_in(course, most)) return course.at;
  if (course.held > most) return Instant::max();
  if (limit_.algorithm == Algorithm::kGcra) {
    const Instant full = saturating_add(course.at, limit_.rate.burst_offset());
    const Duration left =
        times(limit_.rate.emission_interval, most - course.held);
    return std::max(course.at,
                    saturating_add(std::min(course.state.tat, full), -left));
  }
  return window_at(course.at).end;
}

// Goes on to the end of a hold.
void HeldBucket::pass(const Hold& hold, Course* course) const {
  course->at = std::max(hold.end, course->at);
  course->held = sound(course->held - sound(hold.units));
  if (!limit_.rules->frees) {
    charge(sound(hold.units), hold.end, &course->state);
  } else if (limit_.algorithm == Algorithm::kFixedWindow) {
    roll(hold.end, &course->state.window);
  }
}

// The same for the holds of a whole page: see is_whole().
void HeldBucket::pass_page(std::uint32_t begin, std::uint32_t end,
                           Course* course) const {
  const HoldSummary& page = view_.pages[begin / kPageHolds];
  const Instant last = view_.holds[end - 1].end;
  course->at = std::max(last, course->at);
  course->held = sound(course->held - sound(page.units));
  if (limit_.algorithm == Algorithm::kGcra) {
    if (!limit_.rules->frees) course->state.tat = page.after(course->state.tat);
  } else if (limit_.algorithm == Algorithm::kFixedWindow) {
    const Instant start = window_at(last).start;
    std::int64_t units = sound(page.units);
    for (; view_.holds[begin].end < start; ++begin) {
      units -= sound(view_.holds[begin].units);
    }
    if (limit_.rules->frees) units = 0;
    charge(sound(units), last, &course->state);
  }
}

// Whether the summary of a page has just the holds that end there.
bool HeldBucket::is_whole(std::uint32_t begin, std::uint32_t end,
                          bool adds) const {
  return view_.pages != nullptr && begin % kPageHolds == 0 &&
         (gone_ < begin || gone_ >= end) &&
         (!adds || !ends_before(added_, view_.holds[end - 1]));
}

// Whether more than `most` is held until the end of all holds that are stored.
bool HeldBucket::ends_last(std::int64_t most) const {
  if (added_.units == 0) return most == 0;
  return most < added_.units &&
         (view_.first == view_.end ||
          !ends_before(added_, view_.holds[view_.end - 1]));
}

Instant HeldBucket::until(std::int64_t most) const {
  Course course = course_;
  if (fits_in(course, most)) return kLongAgo;
  bool adds = added_.units > 0;
  std::uint32_t i = view_.first;
  if (followed_ && ends_last(most)) {
    course = last_;
    course.held += added_.units;
    i = view_.end;
  }
  while (i < view_.end || adds) {
    const std::uint32_t page_end =
        std::min(i / kPageHolds * kPageHolds + kPageHolds, view_.end);
    if (i < view_.end && is_whole(i, page_end, adds)) {
      Course later = course;
      pass_page(i, page_end, &later);
      if (!fits_in(later, most)) {
        course = later;
        i = page_end;
        continue;
      }
    }
    const bool is_added =
        adds && (i == view_.end || ends_before(added_, view_.holds[i]));
    const Hold& hold = is_added ? added_ : view_.holds[i];
    if (!is_added && (i++ == gone_ || hold.units == 0)) continue;
    if (is_added) adds = false;
    const Instant alone = alone_until(course, most);
    if (alone <= hold.end) return alone;
    pass(hold, &course);
    if (i < view_.end && fits_in(course, most)) return hold.end;
  }
  if (added_.units == 0) {
    last_ = course;
    followed_ = true;
  }
  return alone_until(course, most);
}

bool HeldBucket::remove(std::int64_t units) {
  followed_ = false;
  HeldState& state = course_.state;
  if (limit_.algorithm == Algorithm::kGcra) {
    const Instant before = std::max(state.tat, now_);
    state.tat = std::max(
        now_, saturating_add(before, -(limit_.rate.emission_interval *
                                       std::min(units, limit_.rate.capacity))));
    return state.tat != before;
  }
  const std::int64_t before = state.window.units;
  state.window.units = std::max(before - units, std::int64_t{0});
  return state.window.units != before;
}

void HeldBucket::hold(const Hold& hold) {
  added_ = hold;
  course_.held += hold.units;
}

void HeldBucket::settle(std::uint32_t place, std::int64_t units) {
  const std::int64_t held = sound(view_.holds[place].units);
  followed_ = false;
  gone_ = place;
  course_.held = sound(course_.held - held);
  charge(units == kAsHeld ? held : units, now_, &course_.state);
}

void HeldBucket::extend(std::uint32_t place, Instant end) {
  const Hold& hold = view_.holds[place];
  followed_ = false;
  gone_ = place;
  added_ = {hold.id, end, sound(hold.units)};
}

}  // namespace limitree
