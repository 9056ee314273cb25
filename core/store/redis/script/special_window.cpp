#include "store/redis/script/special_window.hpp"

#include <string_view>

#include "base/micros.hpp"
#include "store/redis/script/lua_text.hpp"

namespace limitree::redis {

namespace {

// decide_mixed.lua has the reasons for what these do.  The server's clock
// counts whole microseconds, so that "up" is now.
constexpr std::string_view kHead = R"(
local call, floor, format = redis.call, math.floor, string.format
local t = call('TIME')
local now = t[1] * 1e6 + t[2]
local r = call('HMGET', KEYS[1], ':', <field>)
local v = r[2]
)";

constexpr std::string_view kForeign = R"(
    return redis.error_reply('WRONGTYPE a field of ' .. KEYS[1] ..
      ' holds no state of a limit')
)";

constexpr std::string_view kFixedWindow = R"(
local from = now - now % <period>
local start, used, over, ahead = from, 0, from + <period>, false
if v then
  local a, b = string.match(v, '^(%d+):(%d+)$')
  if not a then
<foreign>  end
  a, b = a + 0, b + 0
  if b > 0 and a >= from then
    used, ahead = b, a >= over
    if not ahead then start = a end
  end
end
)";
constexpr std::string_view kFixedText = "format('%d:%d', start, used + <add>)";

constexpr std::string_view kSlidingTail = R"(
local from = now - now % <period>
local start, current, previous, ahead = from, 0, 0, false
local inside = from + <period> - now
if v then
  local a, b, c = string.match(v, '^(%d+):(%d+):(%d+)$')
  if not a then
<foreign>  end
  a, b, c = a + 0, b + 0, c + 0
  if a >= from + <period> and b + c > 0 then
    current, ahead = math.min(b + c, 4e9), true
  elseif from <= a then
    current, previous = b, c
  elseif from - a <= <period> then
    previous = b
  end
end
local used, over = floor(previous * inside / <period>) + current,
  start + 2 * <period>
)";
constexpr std::string_view kTailText =
    "format('%d:%d:%d', start, current + <add>, previous)";

constexpr std::string_view kLeakyStep = R"(
local last, used, ahead = now - now % <period>, 0, false
if v then
  if not string.find(v, '^%d+$') then
<foreign>  end
  if v + 0 > last then
    used = floor((v - last - 1) / <period>) + 1
    ahead = used > <highest>
    if ahead then used = <highest> end
  end
end
local over = last + (used + <cost>) * <period>
)";
constexpr std::string_view kStepText =
    "format('%d', last + (used + <add>) * <period>)";

// What the log holds now from `first` on, and up to `kept` what stays an entry
// of its own when units of now are added: the `units` behind that are joined.
constexpr std::string_view kLog = R"(
local unpack, pack = struct.unpack, struct.pack
local used, first, size, kept, ahead = 0, 5, 4, 4, false
local newest, units = 0, 0
v = v or ''
if v ~= '' then
  size = #v
  if size < 15 or size % 11 ~= 4 then
<foreign>  end
  local at, n
  used, at, n = unpack('>I4I7I4', v)
  while at + <period> <= now do
    first, used = first + 11, used - n
    if first > size then break end
    at, n = unpack('>I7I4', v, first)
  end
  kept = size
  if first < size then
    newest = at
    if first + 10 < size then newest, n = unpack('>I7I4', v, size - 10) end
    ahead = newest > now
    if ahead then
      repeat
        units, kept = units + n, kept - 11
        if kept < first then break end
        at, n = unpack('>I7I4', v, kept - 10)
      until at <= now
    elseif <joins> then
      units, kept = n, size - 11
    end
  end
end
)";
constexpr std::string_view kJoinsInstant = "newest == now";
constexpr std::string_view kJoinsBucket =
    "floor(newest / <join>) == floor(now / <join>)";

// Of what there is then, `fits` is when no more than <room> units are left, and
// `grows` when one less counts against the capacity.
constexpr std::string_view kLogWait = R"(
local denied = used > <room>
local sum, last = used, size
if not denied then sum, last = used + <cost>, kept end
local function left(excess)
  for from = first, last, 11 do
    local at, n = unpack('>I7I4', v, from)
    excess = excess - n
    if excess <= 0 then return (at < now and at or now) + <period> end
  end
  return now + <period>
end
local fits = sum > <room> and left(sum - <room>) or 0
local grows = left(sum > <capacity> and sum - <capacity> + 1 or 1)
if denied then
  if ahead then call('HSET', KEYS[1], <field>, <held>) end
  local empty = math.min(newest, now) + <period>
  local word = format(':%d:%d:%d', empty, fits, grows)
  return '- ' .. t[1] .. ' ' .. t[2] .. '000 ' .. used .. word .. word
end
)";

constexpr std::string_view kLogWord = R"(
local text, over = <text>, now + <period>
v = format('%d:0:0:0:%d:%d:%d', used, now + <period>, fits, grows)
)";
constexpr std::string_view kLogText =
    "pack('>I4c0I7I4', used + <add>, string.sub(v, first, kept), now,\n"
    "  units + <add>)";

constexpr std::string_view kDeny = R"(
v = v or ''
if used > <room> then
  if ahead then call('HSET', KEYS[1], <field>, <held>) end
  return '- ' .. t[1] .. ' ' .. t[2] .. '000 ' .. v
end
)";

constexpr std::string_view kAllow = "local text = <text>\n";

constexpr std::string_view kWrite = R"(
local second, horizon = math.ceil(over / 1e6), r[1]
if horizon and second + 2 <= horizon + 0 then
  call('HSET', KEYS[1], <field>, text)
else
  if horizon and call('HLEN', KEYS[1]) > 2 then
    local all = call('HGETALL', KEYS[1])
    for i = 1, #all, 2 do
      local f, tat = all[i], all[i + 1]
      if f ~= ':' and not string.find(f, '!', 1, true) and
        string.find(tat, '^%d+$') and
        (#tat < 19 or #tat == 19 and string.sub(tat, 1, -4) + 2e6 < now) then
        call('HDEL', KEYS[1], f)
      end
    end
  end
  local life = 2 * (second - t[1]) + 2
  call('HSET', KEYS[1], ':', t[1] + life, <field>, text)
  call('EXPIRE', KEYS[1], life)
end
return '+ ' .. t[1] .. ' ' .. t[2] .. '000 ' .. v
)";

const Level& level_of(const Plan& plan, const Families& families) {
  return plan.levels[families.levels()[0]];
}

// The length of a window or a tick, in microseconds.
std::int64_t period_of(const Limit& limit) {
  return (is_window(limit.algorithm) ? limit.period
                                     : limit.rate.emission_interval) /
         kMicrosecond;
}

std::string field_of(const Plan& plan, const Families& families) {
  std::string field;
  append_field(plan, families.members()[0].family, level_of(plan, families),
               &field);
  return field;
}

bool has_script(const Limit& limit, std::int64_t ceiling) {
  switch (limit.algorithm) {
    case Algorithm::kFixedWindow:
      return limit.rules->align == Align::kEpoch;
    case Algorithm::kLeakyStep:
    case Algorithm::kSlidingLog:
    case Algorithm::kSlidingWindow:
      return true;
    case Algorithm::kSlidingTail:
      // Products that a double holds.
      return !limit.rules->round_up &&
             ceiling <= (std::int64_t{1} << 52) / period_of(limit);
    case Algorithm::kGcra:
      break;
  }
  return false;
}

struct Parts {
  std::string_view read;  // what is used, and `over`, when that is forgotten
  std::string_view deny;
  std::string_view allow;
  std::string_view text;  // what is written, with so many units more
};

Parts parts_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kFixedWindow:
      return {kFixedWindow, kDeny, kAllow, kFixedText};
    case Algorithm::kSlidingTail:
      return {kSlidingTail, kDeny, kAllow, kTailText};
    case Algorithm::kSlidingLog:
    case Algorithm::kSlidingWindow:
      return {kLog, kLogWait, kLogWord, kLogText};
    case Algorithm::kLeakyStep:
    case Algorithm::kGcra:
      break;
  }
  return {kLeakyStep, kDeny, kAllow, kStepText};
}

}  // namespace

bool is_special_window(const Plan& plan, const Families& families) {
  if (plan.operation != Operation::kAuthorize || plan.denied) return false;
  if (families.levels().size() != 1) return false;
  const Level& level = level_of(plan, families);
  const Limit& limit = *level.limit;
  if (limit.is_plain() || limit.rules->overrun_when_idle) return false;
  const std::int64_t ceiling = ceiling_of(limit, plan.pressure);
  return level.cost == limit.cost && level.cost > 0 && level.cost <= ceiling &&
         level.mode == Mode::kEnforce &&
         limit.charge == Charge::kAllOrNothing && has_script(limit, ceiling);
}

void write_window_signature(const Plan& plan, const Families& families,
                            std::string* out) {
  const Level& level = level_of(plan, families);
  *out = traits_of(level.limit->algorithm).suffix;
  for (const std::int64_t number :
       {period_of(*level.limit), level.cost, level.limit->rate.capacity,
        ceiling_of(*level.limit, plan.pressure),
        level.limit->rules->bucket / kMicrosecond}) {
    out->append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  *out += field_of(plan, families);
}

std::string window_text(const Plan& plan, const Families& families) {
  const Level& level = level_of(plan, families);
  const Limit& limit = *level.limit;
  const std::int64_t ceiling = ceiling_of(limit, plan.pressure);
  const Parts parts = parts_of(limit.algorithm);
  const std::int64_t join = limit.rules->bucket / kMicrosecond;
  const std::string period = std::to_string(period_of(limit));
  std::string text;  // of a bucket that is charged
  append_lua(parts.text,
             {{"add", std::to_string(level.cost)}, {"period", period}}, &text);
  std::string held;  // and of one that is not
  append_lua(parts.text, {{"add", "0"}, {"period", period}}, &held);
  std::string joins;
  append_lua(join == 0 ? kJoinsInstant : kJoinsBucket,
             {{"join", std::to_string(join)}}, &joins);
  std::string out;
  for (const std::string_view part :
       {kHead, parts.read, parts.deny, parts.allow, kWrite}) {
    append_lua(part,
               {{"field", quoted_lua(field_of(plan, families))},
                {"foreign", std::string(kForeign.substr(1))},
                {"joins", joins},
                {"text", text},
                {"held", held},
                {"period", period},
                {"cost", std::to_string(level.cost)},
                {"room", std::to_string(ceiling - level.cost)},
                {"capacity", std::to_string(limit.rate.capacity)},
                {"highest", std::to_string(ceiling)}},
               &out);
  }
  return out;
}

}  // namespace limitree::redis
