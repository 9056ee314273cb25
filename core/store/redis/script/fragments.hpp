// What the scripts do for one bucket, by the algorithm of its limit: pieces of
// Lua between those of script_frame.hpp.
//
// Each has the rules of a header of core/base/.  $name is a variable of the
// bucket, <name> one of its numbers (level_numbers.hpp) or another piece.  Time
// is counted in microseconds, which the server's clock does and of which a
// double holds all up to the year 2255; `now` is rounded down, <up> is rounded
// up, for what is held against the caller.

#pragma once

#include <string_view>

#include "store/redis/script/level_numbers.hpp"
#include "store/redis/script/lua_text.hpp"

namespace limitree::redis {

struct Fragments {
  // Reads what was found, <found>, as the bucket is now.
  std::string_view read;

  // Whether the request does not fit; whether the state is dated after now.
  std::string_view denies;
  std::string_view ahead;

  // What comes before <text> for a bucket that is held, that a spent cost is
  // charged to, or that a refund gives back to.  The latter two set `more`,
  // which is not 0 if that changes the bucket; a refund sets `left` to whether
  // the bucket is not empty afterwards.
  std::string_view hold;
  std::string_view spend;
  std::string_view refund;

  // The same where a charge of <since> is taken back: what time may have given
  // back of it stays gone.  For Layout::kLoop only, where numbers can be set;
  // <give_back> is `refund`.
  std::string_view take_back;

  // The units to add if hits that do not fit count, too; empty: no limit of
  // that kind is charged like this.
  std::string_view hits;

  // What is free after the charge, in nanoseconds or units; empty: no limit of
  // that kind is leased.  Then what `lease` units more add to the charge.
  std::string_view free;
  std::string_view add_lease;

  // The state with <more> units more, and how long it counts from now on.
  std::string_view text;
  std::string_view life;
  std::string_view refunded;  // the text after a refund

  // Makes what is replied, if that is not what was found: for a bucket that is
  // left as it is, for one that is charged, and for one that may be either.
  std::string_view word_left;
  std::string_view word_charged;
  std::string_view word_either;
};

const Fragments& fragments_of(Kind kind);

// Sets the pieces that others name.  `small`: the period times the most units
// is less than 2^52 microseconds.
void set_fragments(Kind kind, bool small, LuaNames* names);

}  // namespace limitree::redis
