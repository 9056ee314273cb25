// The pieces of Lua that all scripts have: everything is read and decided
// before the first write, and each key gets its time to live.
//
// script_writer.cpp puts them together.  What an algorithm does between them is
// in fragments.hpp, which also explains $name and <name>.

#pragma once

#include <string>
#include <string_view>

#include "store/redis/script/lua_text.hpp"

namespace limitree::redis::frame {

inline constexpr std::string_view kHead = R"(
local t = <time>
local now = t[1] * 1e6 + t[2]
<callers>)";
inline constexpr std::string_view kCallersTime = R"(
local nano = t[3] + 0
local up = nano > 0 and now + 1 or now
)";

// For several requests, of which one that fails must not end the others.
// Servers before 7.0 put the place in the script before an error.
inline constexpr std::string_view kDecideSeveral = R"(
local replies = {}
for i = 1, #KEYS, <families> do
  local ok, reply = pcall(decide, <arguments>)
  if not ok and type(reply) ~= 'table' then
    reply = {err = match(reply, '^@user_script: ?%d+: %-?(.*)') or reply}
  end
  replies[#replies + 1] = reply
end
return replies
)";

inline constexpr std::string_view kReadFamily = R"(
local <r> = call('HMGET', <key>, ':'<fields>)
)";
inline constexpr std::string_view kTryFamily = R"(
local <r> = try('HMGET', <key>, ':'<fields>)
if <r>.err then return <r> end
)";
inline constexpr std::string_view kForeign =
    "return redis.error_reply('WRONGTYPE a field of ' .. <key> ..\n"
    "      ' holds no state of a limit')";

// Layout::kLoop: the variables of all levels are in tables.
inline constexpr std::string_view kTables = R"(
local v, x, y, z, p, q, used, ahead = {}, {}, {}, {}, {}, {}, {}, {}
local first, kept, newest, units, word = {}, {}, {}, {}, {}
local words, horizons, at, i = {}, {}
)";
inline constexpr std::string_view kEachFamily = R"(
at, i = <first>, 0
for k, key in ipairs(KEYS) do
local count, fields = ARGV[at] + 0, at
at = at + count + 1
)";
inline constexpr std::string_view kReadEachFamily = R"(
local r = call('HMGET', key, ':', unpack(ARGV, fields + 1, fields + count))
horizons[k] = r[1]
)";
inline constexpr std::string_view kEachLevel = R"(
for j = 1, count do
i = i + 1
local kind, when, field = ARGV[at], ARGV[at + 2], ARGV[fields + j]
local c_a, c_b, c_c = ARGV[at + 3] + 0, ARGV[at + 4] + 0, ARGV[at + 5] + 0
local c_d, c_e, c_f = ARGV[at + 6] + 0, ARGV[at + 7] + 0, ARGV[at + 8] + 0
)";
inline constexpr std::string_view kEndOfLevel = "end\nat = at + 9\nend\n";

// What Layout::kHeldLoop has besides.
inline constexpr std::string_view kHeldTables = "local h = {}\n";
inline constexpr std::string_view kMoreOfHeldLevel = R"(
local c_g, c_h, c_i = ARGV[at + 9] + 0, ARGV[at + 10] + 0, ARGV[at + 11] + 0
local c_j = ARGV[at + 12] + 0
)";
inline constexpr std::string_view kEndOfHeldLevel = "end\nat = at + 13\nend\n";

// GCRA: subtracts what a caller's clock has below a microsecond; the debt after
// a charge, of whole microseconds and of any.
inline constexpr std::string_view kBorrow = R"(
  ns = ns - nano
  if ns < 0 then us, ns = us - 1, ns + 1000 end
)";
inline constexpr std::string_view kChargeMicros = R"(
<local>$p, $q = $x + <charge>, $y
)";
inline constexpr std::string_view kCharge = R"(
<local>$p, $q = $x + <charge>, $y + <charge_ns>
if $q >= 1000 then $p, $q = $p + 1, $q - 1000 end
)";

// Takes units for requests that are to come: Plan::lease.
inline constexpr std::string_view kTakeLease = R"(
local lease, parts = ARGV[<argument>] + 0, ARGV[<argument> + 1] + 0
)";
inline constexpr std::string_view kFitLease = R"(
lease = min(lease, floor((<free>) / (<unit> * parts)))
)";

inline void name_clock(bool callers, LuaNames* names) {
  names->set("time", callers ? "ARGV" : "call('TIME')");
  names->set("callers", callers ? kCallersTime.substr(1) : "");
  names->set("borrow", callers ? kBorrow.substr(1) : "");
  names->set("up", callers ? "up" : "now");
  names->set("linger", callers ? "3600" : "2");
  names->set("stamp", callers ? "t[1] .. ' ' .. t[2] .. t[3] .. ' '"
                              : "t[1] .. ' ' .. t[2] .. '000 '");
}

// What a request writes for a level that is not charged.
inline constexpr std::string_view kHold = R"(
  if <ahead> then
<hold>    call('HSET', <key>, <field>, <text>)
  end
)";

// The condition that when_charged() stands for, unless it is '0'.
constexpr std::string_view charged_if(char when) {
  return when == '4'   ? "true"
         : when == '5' ? "allowed or <denies>"
         : when == '2' ? "not (<denies>)"
         : when == '7' ? "not (allowed or <denies>)"
                       : "allowed and not (<denies>)";
}
// The same in Layout::kLoop, without and with hits that count if they do not
// fit.
inline constexpr std::string_view kChargedIf =
    "(when == '2' or when == (allowed and '1' or '7')) and not (<denies>)";
inline constexpr std::string_view kHitChargedIf =
    "when == '4' or when == '5' and allowed or\n"
    "  ((<denies>) and (when == '5' or when == '6') or not (<denies>) and\n"
    "  (when == '2' or when == (allowed and '1' or '7')))";

// Several levels may have one counter: each finds what the earlier ones have
// left.
inline constexpr std::string_view kResume =
    "  $used = also[<field>] or $used\n";
inline constexpr std::string_view kNoteCharge =
    "  also[<field>] = $used + <added>\n";
inline constexpr std::string_view kNoteRefund = "  also[<field>] = $used\n";
inline constexpr std::string_view kNotNoted = " and not also[<field>]";
inline void name_again(bool again, bool refunds, LuaNames* names) {
  names->set("resume", again ? kResume : "");
  names->set("not_noted", again ? kNotNoted : "");
  names->set("note", !again ? "" : refunds ? kNoteRefund : kNoteCharge);
}

// What happens to levels if that is not known for all of them at once.
inline constexpr std::string_view kBeginChanges = R"(
do
local set, gone, also, latest, horizon = {}, {}, {}, 0, <horizon>
)";
inline constexpr std::string_view kPut = R"(
  set[#set + 1], set[#set + 2] = <field>, <text>
  latest = max(latest, <life>)
)";
inline constexpr std::string_view kChangeIfCharged = R"(
if <charged> then
  flag = '+'
<resume><put><note>elseif <ahead><not_noted> then
<hold><put_held>end
)";
inline constexpr std::string_view kChangeIfSpent = R"(
do
<spend>if more > 0 then
  flag = '+'
<put>elseif <ahead> then
<hold><put_held>end
end
)";
inline constexpr std::string_view kChangeIfRefunded = R"(
do
<resume><refund>if more > 0 then
  flag = '+'
  if left then
<put>  else
    gone[#gone + 1] = <field>
  end
end
<note>end
)";

// A level that can hold: held_lua.hpp.
inline constexpr std::string_view kChangeHeld = R"(
if finish($h, <applies>, <writes>, <both>, set, gone) then flag = '+' end
latest = max(latest, $h.life)
)";

// A key lives for twice the debt, so that the next request does not have to set
// that again.  Buckets that are full again would stay as long as any other of
// the key is in use: they are forgotten then.  With a caller's clock, nothing
// tells when a key may expire, only that a test does not take an hour:
// <linger>.  Fields with "!" hold something other than TATs.
inline constexpr std::string_view kWrite = R"(
if horizon and now + latest + 2e6 <= horizon * 1e6 then
  call('HSET', <key><set>)
else
  if horizon and call('HLEN', <key>) > <most_fields> then
    local all = call('HGETALL', <key>)
    for i = 1, #all, 2 do
      local f, tat = all[i], all[i + 1]
      if f ~= ':' and not string.find(f, '!', 1, true) and #tat < 20 and
        string.find(tat, '^%d+$') and
        ('0' .. sub(tat, 1, -4)) + <linger> * 1e6 <= now then
        call('HDEL', <key>, f)
      end
    end
  end
  local life = 2 * math.ceil(latest / 1e6) + <linger>
  call('HSET', <key>, ':', t[1] + life<set>)
  call('EXPIRE', <key>, life)
end
)";
// unpack() has room for 8000 values.
inline constexpr std::string_view kWriteChanges = R"(
if #set > 0 then
for first = 1, #set - 4000, 4000 do
  call('HSET', <key>, unpack(set, first, first + 3999))
end
<write>end
if #gone > 0 then
  for first = 1, #gone, 4000 do
    call('HDEL', <key>, unpack(gone, first, min(first + 3999, #gone)))
  end
  if call('HLEN', <key>) == 1 then call('DEL', <key>) end  -- only ":" is left
end
)";
inline constexpr std::string_view kSetOfChanges =
    ", unpack(set, #set - (#set - 1) % 4000)";

// Functions that a script has if it calls them.
struct Definition {
  std::string_view name;
  std::string_view text;
};
inline constexpr Definition kFunctions[] = {
    // When `excess` units of a log have left, of its entries and then of those
    // that are added now.
    {"left_at", R"(
local function left_at(log, from, last, excess, period)
  for place = from, last, 11 do
    local at, n = unpack_bytes('>I7I4', log, place)
    excess = excess - n
    if excess <= 0 then return (at < <up> and at or <up>) + period end
  end
  return <up> + period
end
)"},
    // floor(a * b / c), for b <= c.
    {"mul_div", R"(
local function mul_div(a, b, c)
  local q, r, bit = 0, 0, 4294967296
  while bit >= 1 do
    q, r = q * 2, r * 2
    if r >= c then q, r = q + 1, r - c end
    if a >= bit then
      a, r = a - bit, r + b
      if r >= c then q, r = q + 1, r - c end
    end
    bit = bit / 2
  end
  return q
end
)"},
    // A TAT from a debt, with a caller's clock.
    {"tat_of", R"(
local function tat_of(us, ns)
  us, ns = now + us, ns + nano
  if ns >= 1000 then us, ns = us + 1, ns - 1000 end
  return us > 0 and format('%d%03d', us, ns) or format('%d', ns)
end
)"},
};
// Functions of Redis, as locals of a script; without those that are rarely
// called.
inline constexpr Definition kLibrary[] = {
    {"call", "redis.call"},      {"try", "redis.pcall"},
    {"sub", "string.sub"},       {"match", "string.match"},
    {"format", "string.format"}, {"floor", "math.floor"},
    {"max", "math.max"},         {"min", "math.min"},
    {"pack", "struct.pack"},     {"unpack_bytes", "struct.unpack"},
};
inline std::string library_of(std::string_view text) {
  std::string library;
  for (const auto& [name, function] : kLibrary) {
    if (!calls_function(text, name)) continue;
    library.append("local ").append(name).append(" = ");
    library.append(function).append("\n");
  }
  return library;
}

}  // namespace limitree::redis::frame
