// Lua for limits with `hold`: functions that all of their levels in a script
// share, and what a script does with one level.
//
// The rules are those of core/base/held_bucket.hpp.  A level is a table `h`.
// Its instants are nanoseconds after h.base, a microsecond of at most three
// days ago, so that a double holds them; h.now is one of them.
//
// State, in fields of the family's hash, for a bucket whose field is F:
//   F        what the algorithm keeps without holds; nothing of kConcurrent
//   F!h      if anything is held: the head, and the directory of pages
//   F!h<n>   a page: up to 32 holds, in the order of their ends
//
// All numbers are doubles of 8 bytes, the lowest first.
//   the head   h.base; the interval and capacity of the limit, as the summaries
//              have them; the TAT, or the start of the window in microseconds;
//              the units charged in it; the units held; the number of holds;
//              the number of the last page; HoldSummary of all holds, of
//              which `more` is negative if that is not known
//   an entry   of the directory: number, number of holds, first and last end,
//              units, and HoldSummary: from, more, most
//   a hold     its end, its units, and 16 bytes of its id
//
// A page is made when there is no room in another.  Pages that have become
// small are joined, so that on average a page has 12 holds at least.

#pragma once

#include <string_view>

#include "base/plan.hpp"
#include "store/redis/script/level_numbers.hpp"
#include "store/redis/script/lua_text.hpp"

namespace limitree::redis::held {

// Pages: how they are read, changed and added up.
extern const std::string_view kPages;
// The bucket at an instant: what it owes, and when it owes how much.
extern const std::string_view kTimes;
// How a level is read, as held(), and what becomes of it, as finish().
extern const std::string_view kLevel;

// The argument that names the reservation.
inline constexpr std::string_view kId = "local id = ARGV[<id_at>]\n";

// Names what the operation does in these pieces.
void name_operation(const Plan& plan, bool callers_clock, LuaNames* names);

// Reads a level into $h; <rule> is what it knows of its limit.
extern const std::string_view kRead;
std::string_view rule_of(Kind kind);

}  // namespace limitree::redis::held
