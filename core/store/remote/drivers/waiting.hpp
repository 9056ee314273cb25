// How callers wait for their answers: until when, and how.

#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "store/remote/common/health.hpp"
#include "store/remote/common/settings.hpp"
#include "store/remote/wire/read_end.hpp"

namespace limitree::remote {

// How much longer a blocking caller waits: its deadline, which measures the
// server and not the caller.
//
// A caller that waits looks at the clock with every beat at least.  Where far
// more time has passed between two looks, the thread did not run (no processor
// was free, or the process was stopped), and the deadline moves by that much.
//
// Knows no clock.
class Patience {
 public:
  static constexpr Duration kBeat = ReadEnd::kBeat;
  // recv() counts in ticks of the kernel, of 4 or 10 ms, and may take one more.
  static constexpr Duration kLateTimer = std::chrono::milliseconds(15);

  // How much of the time between two looks the thread did not run: what goes
  // beyond a beat, unless that is no more than a timer may be late.
  static Duration lost(Duration between) {
    return between > kBeat + kLateTimer ? between - kBeat : Duration::zero();
  }

  Patience(Monotonic now, Monotonic deadline)
      : looked_(now), deadline_(deadline) {}

  // Notes that the thread runs at `now`, and returns `now`.
  Monotonic look(Monotonic now) {
    if (now <= looked_) return looked_;
    deadline_ += lost(now - looked_);
    return looked_ = now;
  }

  // The same after a wait that was meant to take this long, and so counts.
  void look_after(Duration wait, Monotonic now) {
    looked_ += wait;
    look(now);
  }

  // Notes that no server was asked so far: the caller waited for other threads,
  // or did not run.
  void skip_to(Monotonic now) {
    if (now <= looked_) return;
    deadline_ += now - looked_;
    looked_ = now;
  }

  // As of the last look.
  Monotonic looked() const { return looked_; }
  bool over() const { return looked_ >= deadline_; }
  Duration left() const { return deadline_ - looked_; }
  Monotonic wait_until() const { return std::min(deadline_, looked_ + kBeat); }

  // Half of the time that is left, for one of several servers; then
  // look_after() it was used.
  Patience half() const { return {looked_, looked_ + left() / 2}; }
  void look_after(const Patience& part) {
    deadline_ += part.deadline_ - (looked_ + left() / 2);
    looked_ = part.looked_;
  }

 private:
  Monotonic looked_;
  Monotonic deadline_;
};

// The time of an event loop: that in which it waits and would hear a server.
//
// It stands still while the loop runs, because what is started then is sent at
// the end, and when a run comes later than it was wanted: the host was busy, or
// the machine had no processor to give.
//
// Knows no clock.
class RunningTime {
 public:
  // No run is that long, and no timer that late, in a process that has a
  // processor and nothing else to do.
  static constexpr Duration kShort = std::chrono::milliseconds(1);

  // A run begins: returns its time.
  Monotonic begin(Monotonic real) {
    began_ = real;
    const Monotonic due = std::max(wanted_, ended_);
    if (real > due) lose(real - due);
    return real - lost_;
  }

  void end(Monotonic real) {
    lose(real - began_);
    ended_ = real;
    // That was it, also if it became due meanwhile: the run reads all events.
    if (wanted_ <= real) wanted_ = Monotonic::max();
  }

  // Wants a run at `at`, at the latest.  Returns when that really is, if
  // nothing is lost till then and no earlier one is wanted.
  std::optional<Monotonic> want(Monotonic at) {
    const Monotonic real = at + lost_;
    if (real >= wanted_) return std::nullopt;
    return wanted_ = real;
  }

 private:
  void lose(Duration time) {
    if (time > kShort) lost_ += time;
  }

  Duration lost_{};
  Monotonic began_{};
  Monotonic ended_ = Monotonic::min();
  Monotonic wanted_ = Monotonic::max();
};

}  // namespace limitree::remote
