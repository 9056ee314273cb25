// The state of one bucket of a window algorithm, or of one that holds units: a
// slot of 32 bytes, and a separate block for the entries of a log
// (log_block.hpp) or for holds (hold_block.hpp).

#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.hpp"

namespace limitree {

struct Cell {
  std::uint64_t tag;  // keyed hash of the bucket's name; 0: never used

  // When all of it stops counting, in microseconds since kEver; the part of the
  // ceiling used at the last charge, in 126ths, or kDenies; whether it is a
  // sliding_tail; and whether it has `log`.  Both: the block of holds.
  std::uint64_t over_at : 55;
  std::uint64_t part : 7;
  std::uint64_t has_tail : 1;
  std::uint64_t has_log : 1;

  // The start of the window, or the time at which the oldest unit of a log
  // leaves, in microseconds.  Of a GCRA that holds units: the TAT in
  // nanoseconds.
  std::int64_t start;
  struct Units {
    std::uint32_t current;
    std::uint32_t previous;
  };
  union {
    Units units;
    std::uint64_t
        log;  // the link to its LogBlock: the memory of the cell knows
  };

  // Before any Instant, in microseconds.  An over_at of 0 is always past.
  static constexpr std::int64_t kEver = -(std::int64_t{1} << 54);

  // A request of cost 1 would be denied.
  static constexpr std::uint64_t kDenies = 127;

  bool is_of(std::uint64_t other) const { return tag == other; }
  bool is_over(Instant now) const { return over_at == 0 || over() <= now; }
  Instant over() const {
    return at_micros(static_cast<std::int64_t>(over_at) + kEver);
  }
  Instant started() const { return at_micros(start); }
  bool has_holds() const { return has_log != 0 && has_tail != 0; }
  void set_over(Instant at) {
    const std::int64_t micros = at.time_since_epoch() / kMicrosecond;
    over_at = static_cast<std::uint64_t>(micros - kEver) &
              ((std::uint64_t{1} << 55) - 1);
  }

  // Notes a charge: `used` of `ceiling` units; a request of cost 1 takes
  // `cost`.
  void set_used(std::int64_t used, std::int64_t cost, std::int64_t ceiling) {
    if (cost > ceiling - used) {  // a limit may state any cost
      part = kDenies;
      return;
    }
    // A counter may admit nothing, and be asked how much is left.
    const std::int64_t share = 126 * used / std::max(ceiling, std::int64_t{1});
    part = static_cast<std::uint64_t>(share) & 127;
  }

  // The used share, from 0 to 1.  Constant until units begin to leave, then
  // falling evenly, because the cell does not know more.
  float share(Instant now) const {
    if (is_over(now)) return 0;
    const float most = static_cast<float>(std::min<std::uint64_t>(part, 126));
    const Instant from = leaves_from();
    if (now <= from) return most / 126;
    return most / 126 * seconds(saturating_sub(over(), now)) /
           seconds(saturating_sub(over(), from));
  }
  bool denies(Instant now) const {
    return part == kDenies && !is_over(now) && now < leaves_from();
  }

  // The share as 0 to 126; the last rank if the cell denies.
  static constexpr std::size_t kRanks = 128;
  std::size_t rank(Instant now) const {
    if (denies(now)) return kDenies;
    return static_cast<std::size_t>(126 * share(now));
  }

  // Makes the cell as good as absent.  It owns no log any more.
  void forget() {
    over_at = 0;
    has_log = 0;
    units = {0, 0};
  }
  static constexpr bool kOwns = true;  // its log

 private:
  // Wraps around for times that no clock shows, but that a damaged file may
  // hold.
  static Instant at_micros(std::int64_t micros) {
    const auto ns = static_cast<std::uint64_t>(micros) * 1000;
    return Instant(Duration(static_cast<std::int64_t>(ns)));
  }
  static float seconds(Duration time) {
    return std::chrono::duration<float>(time).count();
  }

  // When units begin to leave.  In a fixed window all leave at once.
  Instant leaves_from() const {
    if (has_holds()) return over();
    const Instant begin = started();
    if (has_log != 0) return begin;
    if (has_tail == 0) return over();
    // Units of the previous window leave already; those of this one in the
    // next.
    if (units.current == 0) return begin;
    return saturating_add(begin, saturating_sub(over(), begin) / 2);
  }
};
static_assert(sizeof(Cell) == 32);

}  // namespace limitree
