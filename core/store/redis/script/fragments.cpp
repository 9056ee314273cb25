#include "store/redis/script/fragments.hpp"

#include <array>
#include <initializer_list>
#include <utility>

#include "store/redis/script/held_lua.hpp"

namespace limitree::redis {

namespace {

// GCRA: $x is the debt in whole microseconds, and $y the nanoseconds beyond
// them, mostly as text; $p and $q are the same after a charge.
constexpr std::string_view kReadGcra = R"(
<local>$v, $x, $y = <found>, 0, '000'
if $v then
  local text = $v
  if #text < 19 and string.find(text, '^%d+$') then
    text = string.rep('0', 19 - #text) .. text
  end
  local ns = sub(text, -3)
  if #text ~= 19 or ns ~= '000' and not string.find(ns, '^%d+$') then
    <foreign>
  end
  local us = sub(text, 1, -4) - now
<borrow>  if us >= 0 then $x, $y = us, ns end
else
  $v = ''
end
<after>
)";
constexpr std::string_view kOwesTooMuch =
    "$p >= <most> and ($p > <most> or $q + 0 > <most_ns>)";
constexpr std::string_view kOverdrawn =
    "$x >= <top> and ($x > <top> or $y + 0 > <top_ns>)";
constexpr std::string_view kHoldGcra = "$p, $q = <top>, <top_ns>\n";
constexpr std::string_view kFreeTime = "(<most> - $p) * 1000 + <most_ns> - $q";
constexpr std::string_view kAddTime = R"(
do
local ns = $q + lease * <unit>
$p, $q = $p + floor(ns / 1000), ns % 1000
end
)";
constexpr std::string_view kSpendGcra = R"(
local more = 0
if $x < <most> or $x == <most> and $y + 0 < <most_ns> then
  more = 1
  if <denies> then $p, $q = <most>, <most_ns> end
end
)";
constexpr std::string_view kRefundGcra = R"(
if <ahead> then $x, $y = <top>, <top_ns> end
local more, left = ($x > 0 or $y + 0 > 0) and 1 or 0, false
if more > 0 then
  $p, $q = $x - <charge>, $y - <charge_ns>
  if $q < 0 then $p, $q = $p - 1, $q + 1000 end
  left = $p > 0 or $p == 0 and $q > 0
end
)";
// Where others take back, too, no state tells whether it was empty since then.
constexpr std::string_view kTakeBackGcra = R"(
<charge> = <charge> - max(0, <up> - <since>)
if <charge> < 0 then <charge>, <charge_ns> = 0, 0 end
<give_back>)";

// The algorithms that count units: $used are held against the caller.
constexpr std::string_view kTooMany = "$used + <cost> > <ceiling>";
constexpr std::string_view kAhead = "$ahead";
constexpr std::string_view kSpendUnits =
    "local more = max(0, min(<cost>, <ceiling> - $used))\n";

constexpr std::string_view kReadUnits = R"(
if $v then
  local a, b = match($v, '^(%d+):(%d+)$')
  if not a then
    <foreign>
  end
  a, b = a + 0, b + 0
  <units>
else
  $v = ''
end
)";

// fixed_window: the window begins at $x and ends at $z.
constexpr std::string_view kReadFixed = R"(
<local>$v, $x = <found>, now - now % <period>
<local>$used, $z, $ahead = 0, $x + <period>, false
<read_units>)";
constexpr std::string_view kReadCalendar = R"(
<local>$v, $x, $z = <found>, <start>, <stop>
<local>$used, $ahead = 0, false
if now < $x then $x, $z = <before>, $x end
if now >= $z then $x, $z = $z, <next> end
if now < $x or now >= $z then
  return redis.error_reply('ERR the clocks of client and server ' ..
    'are more than a window apart')
end
<read_units>)";
constexpr std::string_view kUnitsOfWindow = R"(
if b > 0 and a >= $x then
    $used, $ahead = b, a >= $z
    if not $ahead then $x = a end
  end)";
constexpr std::string_view kReadFirst = R"(
<local>$v, $x, $z = <found>, <up>, <up> + <period>
<local>$used, $ahead = 0, false
<read_units>)";
constexpr std::string_view kUnitsOfFirst = R"(
if b > 0 and a + <period> > now then
    $used, $ahead = b, a > <up>
    if not $ahead then $x, $z = a, a + <period> end
  end)";
constexpr std::string_view kRefundUnits = R"(
local more = $used
$used = max(0, $used - <cost>)
local left = $used > 0
)";
// The window of the charge, and with it all that was charged, may be over.
constexpr std::string_view kTakeBackUnits = R"(
if <since> < $x then <cost> = 0 end
<give_back>)";
constexpr std::string_view kFixedText = "format('%d:%d', $x, $used + <more>)";

// sliding_tail: $y units of the window from $x on, $z of the one before.
constexpr std::string_view kReadTail = R"(
<local>$v, $x = <found>, now - now % <period>
<local>$y, $z, $ahead = 0, 0, false
if $v then
  local a, b, c = match($v, '^(%d+):(%d+):(%d+)$')
  if not a then
    <foreign>
  end
  a, b, c = a + 0, b + 0, c + 0
  if a >= $x + <period> and b + c > 0 then
    $y, $ahead = min(b + c, 4e9), true
  elseif $x <= a then
    $y, $z = b, c
  elseif $x - a <= <period> then
    $z = b
  end
else
  $v = ''
end
<local>$used = <weight> + $y
)";
// Products below 2^53 are exact; those of a small limit are.
constexpr std::string_view kSmallWeight =
    "floor($z * ($x + <period> - now) / <period>)";
constexpr std::string_view kWeight = R"(
($z * <period> < 9e15 and floor($z * ($x + <period> - now) / <period>)
  or mul_div($z, $x + <period> - now, <period>)))";
constexpr std::string_view kWeightUp = R"(
($z - ($z * <period> < 9e15 and floor($z * (now - $x) / <period>)
  or mul_div($z, now - $x, <period>))))";
constexpr std::string_view kRefundTail = R"(
local more = $y + $z
$y, $z = max(0, $y - <cost>), max(0, $z - max(0, <cost> - $y))
local left = $y + $z > 0
)";

// leaky_bucket with steps: it is empty $used ticks after the last tick, $x.
constexpr std::string_view kReadStep = R"(
<local>$v, $x = <found>, now - now % <period>
<local>$used, $ahead = 0, false
if $v then
  if not string.find($v, '^%d+$') then
    <foreign>
  end
  if $v + 0 > $x then
    $used = floor(($v - $x - 1) / <period>) + 1
    $ahead = $used > <highest>
    if $ahead then $used = <highest> end
  end
else
  $v = ''
end
)";
constexpr std::string_view kTakeBackSteps = R"(
<cost> = max(0, <cost> - max(0, floor($x / <period>) -
  floor(<since> / <period>)))
<give_back>)";

// A log: the sum of its units in 4 bytes, then 7 bytes of an instant and 4 of
// its units for each entry.  The entries from $first on count.  When units of
// now are added, the entries up to $kept stay as they are, and the $units after
// them join the new ones.  $word is what is replied about the log.
constexpr std::string_view kReadLog = R"(
<local>$v, $used, $first, $kept = <found>, 0, 5, 4
<local>$ahead, $newest, $units, $word = false, 0, 0, ''
if $v then
  local size = #$v
  if size < 15 or size % 11 ~= 4 then
    <foreign>
  end
  local at, n
  $used, at, n = unpack_bytes('>I4I7I4', $v)
  while at + <period> <= now do
    $first, $used = $first + 11, $used - n
    if $first > size then break end
    at, n = unpack_bytes('>I7I4', $v, $first)
  end
  $kept = size
  if $first < size then
    $newest = at
    if $first + 10 < size then
      $newest, n = unpack_bytes('>I7I4', $v, size - 10)
    end
    $ahead = $newest > <up>
    if $ahead then
      repeat
        $units, $kept = $units + n, $kept - 11
        if $kept < $first then break end
        at, n = unpack_bytes('>I7I4', $v, $kept - 10)
      until at <= <up>
    elseif <joins> then
      $units, $kept = n, size - 11
    end
  end
else
  $v = ''
end
)";
constexpr std::string_view kLogText =
    "pack('>I4c0I7I4', $used + <more>, sub($v, $first, $kept), <up>,\n"
    "  $units + <more>)";
// The newest units go first, and nothing has been joined.
constexpr std::string_view kRefundLog = R"(
local more, left = min(<cost>, $used), $used > <cost>
local at, last, units = <up>, $kept, $units - more
while units < 0 and last > $first do
  local older
  at, older = unpack_bytes('>I7I4', $v, last - 10)
  last, units = last - 11, units + older
end
)";
constexpr std::string_view kRefundedLog =
    "pack('>I4', $used - more) .. sub($v, $first, last) ..\n"
    "  (units > 0 and pack('>I7I4', at, units) or '')";
// From the entry that they are in, which may have joined a later one.
constexpr std::string_view kTakeBackLog = R"(
local at, units, last = 0, 0, $kept
while last > $first and not $ahead and now < <since> + <period> do
  local when, n = unpack_bytes('>I7I4', $v, last - 10)
  if when < <since> then break end
  at, units, last = when, n, last - 11
end
local more, rest = min(<cost>, units), sub($v, last + 12)
local left = $used > more
if units > more then rest = pack('>I7I4', at, units - more) .. rest end
$v = sub($v, 1, last) .. rest
last, units = #$v, 0
)";
// When a log of `sum` units, whose entries end at `last`, has room for the
// request, and when it has one more unit left of its capacity.  If the cost
// exceeds the ceiling, the first of these is not used.
constexpr std::string_view kWaits = R"(
sum > <ceiling> - <cost> and
    left_at($v, $first, last, sum - <ceiling> + <cost>, <period>) or 0,
  left_at($v, $first, last, sum > <capacity> and sum - <capacity> + 1 or 1,
    <period>))";
// The same, after the time at which the log is empty.
constexpr std::string_view kSideLeft = R"(
sum, last, side = $used, #$v, ':0:0:0'
if sum > 0 then
  side = format(':%d:%d:%d',
    ($newest < <up> and $newest or <up>) + <period>, <waits>)
end
)";
constexpr std::string_view kWordLeft = R"(
do
local sum, last, side
<side_left>$word = $used .. side .. side
end
)";
constexpr std::string_view kWordCharged = R"(
do
local sum, last = $used + <cost>, $kept
$word = format('%d:0:0:0:%d:%d:%d', $used, <up> + <period>, <waits>)
end
)";
constexpr std::string_view kWordEither = R"(
do
local sum, last, side
<side_left>local left, more = side, <moved>
if more ~= 0 then
  sum, last, side = sum + more, more > 0 and $kept or last, ':0:0:0'
  if sum > 0 then
    side = format(':%d:%d:%d', more > 0 and <up> + <period> or
      left_at($v, $first, last, sum, <period>), <waits>)
  end
end
$word = $used .. left .. side
end
)";

constexpr Fragments kGcraFragments = {
    .read = kReadGcra,
    .denies = kOwesTooMuch,
    .ahead = kOverdrawn,
    .hold = kHoldGcra,
    .spend = kSpendGcra,
    .refund = kRefundGcra,
    .take_back = kTakeBackGcra,
    .free = kFreeTime,
    .add_lease = kAddTime,
    .text = "<tat>",
    .life = "$p",
    .refunded = "<tat>",
};

constexpr Fragments fixed(std::string_view read) {
  return {.read = read,
          .denies = kTooMany,
          .ahead = kAhead,
          .spend = kSpendUnits,
          .refund = kRefundUnits,
          .take_back = kTakeBackUnits,
          .hits = "min(<cost>, 4e9 - $used)",  // kMaxUnits
          .free = "<ceiling> - $used - <cost>",
          .text = kFixedText,
          .life = "$z - now",
          .refunded = "format('%d:%d', $x, $used)"};
}

constexpr Fragments kTailFragments = {
    .read = kReadTail,
    .denies = kTooMany,
    .ahead = kAhead,
    .spend = kSpendUnits,
    .refund = kRefundTail,
    .take_back = kTakeBackUnits,
    .text = "format('%d:%d:%d', $x, $y + <more>, $z)",
    .life = "$x + 2 * <period> - now",
    .refunded = "format('%d:%d:%d', $x, $y, $z)",
};

constexpr Fragments kStepFragments = {
    .read = kReadStep,
    .denies = kTooMany,
    .ahead = kAhead,
    .spend = kSpendUnits,
    .refund = kRefundUnits,
    .take_back = kTakeBackSteps,
    .text = "format('%d', $x + ($used + <more>) * <period>)",
    .life = "$x + ($used + <more>) * <period> - now",
    .refunded = "format('%d', $x + $used * <period>)",
};

constexpr Fragments kLogFragments = {
    .read = kReadLog,
    .denies = kTooMany,
    .ahead = kAhead,
    .spend = kSpendUnits,
    .refund = kRefundLog,
    .take_back = kTakeBackLog,
    .text = kLogText,
    .life = "<period> + 1",
    .refunded = kRefundedLog,
    .word_left = kWordLeft,
    .word_charged = kWordCharged,
    .word_either = kWordEither,
};

using Values =
    std::initializer_list<std::pair<std::string_view, std::string_view>>;

}  // namespace

const Fragments& fragments_of(Kind kind) {
  static constexpr Fragments kFixed = fixed(kReadFixed);
  static constexpr Fragments kFirst = fixed(kReadFirst);
  static constexpr Fragments kCalendar = fixed(kReadCalendar);
  static const Fragments holding = {
      .read = held::kRead, .denies = "$h.denies", .word_left = "$h.word"};
  static const std::array<const Fragments*, kKinds> others = {
      &kGcraFragments, &kFixed,         &kFirst,         &kCalendar,
      &kTailFragments, &kTailFragments, &kStepFragments, &kLogFragments};
  return can_hold(kind) ? holding : *others[static_cast<std::size_t>(kind)];
}

void set_fragments(Kind kind, bool small, LuaNames* names) {
  const Fragments& of = fragments_of(kind);
  const std::string_view up = kind == Kind::kTailUp ? kWeightUp : kWeight;
  for (const auto& [name, text] :
       Values{{"denies", of.denies},
              {"ahead", of.ahead},
              {"hold", of.hold},
              {"read_units", kReadUnits.substr(1)},
              {"side_left", kSideLeft.substr(1)},
              {"waits", kWaits.substr(1)},
              {"rule", can_hold(kind) ? held::rule_of(kind) : ""},
              {"units", kind == Kind::kFirst ? kUnitsOfFirst : kUnitsOfWindow},
              {"weight", small && kind == Kind::kTail ? kSmallWeight : up}}) {
    names->set(name, text);
  }
}

}  // namespace limitree::redis
