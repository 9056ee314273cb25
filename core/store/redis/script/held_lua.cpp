#include "store/redis/script/held_lua.hpp"

#include <string>

#include "base/hold.hpp"

namespace limitree::redis::held {

// In a script for a part of a request both sides are told, the first for the
// case that something else denies.
const std::string_view kLevel = R"(
local function side_of(h)
  local used, fits, grows = used_of(h), 0, 0
  h.empty = empty_at(h) - h.now
  local function wait(most)
    if has_room(h, most) then return 0 end
    return (h.interval and gcra_at(h, most) or counts_at(h, most)) - h.now
  end
  if <for_cost> and h.cost > 0 and h.cost <= h.most then
    fits = wait(h.most - h.cost)
    if h.crowded then
      fits = max(fits, unpack_bytes('<d', h.dir, 17) - h.now)
    end
  end
  if h.grows and used > 0 then grows = wait(min(used, h.most) - 1) end
  return format(':%d:%d:%d:%d', used, h.empty, fits, grows)
end
local function keep(h, set, gone)
  local text, state = nil, h.tat
  if h.interval then
    if h.tat > h.now then
      local ns = math.fmod(h.tat, 1000)
      if ns < 0 then ns = ns + 1000 end
      text = format('%d%03d', h.base + (h.tat - ns) / 1000, ns)
    end
  else
    state = h.counts and h.base + h.x / 1000 or 0
    if h.units > 0 then text = format('%d:%d', state, h.units) end
  end
  if text then
    set[#set + 1], set[#set + 2] = h.field, text
  elseif h.found then
    gone[#gone + 1] = h.field
  end
  if h.dir ~= '' then
    set[#set + 1], set[#set + 2] = h.name, pack('<ddddddddddd',
      h.base, h.interval or 0, h.most, state, h.units, h.held, h.count,
      h.next, h.a, h.b, h.c) .. h.dir
    for number, page in pairs(h.dirty) do
      set[#set + 1], set[#set + 2] = h.name .. format('%d', number), page
    end
  elseif h.head then
    gone[#gone + 1] = h.name
  end
  for _, number in ipairs(h.gone) do
    gone[#gone + 1] = h.name .. format('%d', number)
  end
  h.life = math.ceil(h.empty / 1000)
end
local function held(key, field, found, head, cost, most, lasts, flags)
  return {
    key = key, field = field, name = field .. '!h', found = found, head = head,
    cost = cost, most = most, lasts = lasts, frees = flags % 2 >= 1,
    books = flags % 4 >= 2, grows = flags % 8 >= 4,
    base = now, now = <nano>, tat = -9e15, start = 0, units = 0,
    held = 0, count = 0, next = 0, dir = '', a = 0, b = -1, c = 0,
    texts = {}, dirty = {}, gone = {}, life = 0, word = ''
  }
end
-- Reads the bucket as it is now.  Returns false if it holds something else.
local function read_held(h)
  local head, found = h.head, h.found
  if head then
    if #head < 152 or #head % 64 ~= 24 then return false end
    local interval, most, state
    h.base, interval, most, state, h.units, h.held, h.count, h.next, h.a, h.b,
      h.c = unpack_bytes('<ddddddddddd', head)
    h.dir, h.tat, h.start = sub(head, 89), state, state
    h.now = (now - h.base) * 1000 + <nano>
    local far = math.abs(h.now) > 2.6e14
    if far or h.interval and (interval ~= h.interval or most ~= h.most) then
      local shift = far and (h.base - now) * 1000 or 0
      rebuild(h, shift)
      h.base, h.now = h.base - shift / 1000, h.now + shift
      if h.tat > -9e15 then h.tat = h.tat + shift end  -- or none is known
    end
  end
  -- The head is older if a process whose limit has no `hold` has charged.
  if found and h.interval then
    if not string.find(found, '^%d+$') then return false end
    found = string.rep('0', 19 - #found) .. found
    h.tat = (sub(found, 1, -4) - h.base) * 1000 + sub(found, -3)
  elseif found and h.counts then
    local a, b = match(found, '^(%d+):(%d+)$')
    if not a then return false end
    h.start, h.units = a + 0, b + 0
  end
  if h.interval then
    h.tat = max(-9e15, min(h.tat, 9e15))
    h.ended = h.count
    book(h)
    if h.tat - h.now > h.full then
      h.tat, h.ahead = h.now + h.full, true
    end
  else
    h.x, h.z = window(h, h.now)
    local start, before = (h.start - h.base) * 1000, h.units
    h.late = before > 0 and start < h.x
    h.ahead = h.counts and before > 0 and start >= h.z
    h.ended = h.count
    local ended = book(h)
    if h.late then h.units = 0 end
    h.units = max(h.units, min(h.units + ended, h.most))
    h.booked = h.booked or head and h.units ~= before
  end
  h.ended = h.ended - h.count
  h.crowded = <reserves> and h.cost > 0 and h.count >= <most_holds>
  h.denies = h.crowded or
    h.cost > 0 and (h.cost > h.most or not has_room(h, h.most - h.cost))
  return true
end
<change>
-- Answers for a level, and adds what is to be written to `set` and `gone`.
-- Returns whether the level is charged.
local function finish(h, applies, writes, both, set, gone)
  local flags, before, sides, changes = 0, used_of(h), '', false
  local books = h.books and h.booked or h.ahead and <holds_ahead>
  local kept = books
<list>  if both or not applies then flags, sides = 1, side_of(h) end
  if books and not writes then
    h.empty = h.empty or empty_at(h) - h.now
    keep(h, set, gone)
  end
  if applies then
    changes = change(h)
    flags, sides = flags + 2 + (changes and 4 or 0), sides .. side_of(h)
    kept = books or writes and changes
    if writes and kept then keep(h, set, gone) end
  end
  if h.ahead then flags = flags + 8 end
  if h.crowded then flags = flags + 16 end
  if kept and h.ended > 0 then
    flags, sides = flags + 32, sides .. format(':%d', h.ended)
  end
  <listed>
  h.word = format('%d:%d', flags, before) .. sides
  return writes and changes
end
)";

namespace {

constexpr std::string_view kReserve = R"(
local function change(h)
  if h.cost == 0 then return false end
  insert(h, h.now + h.lasts, h.cost, id)
  return true
end
)";
constexpr std::string_view kCharge = R"(
local function change(h)
  charge(h, h.cost)
  return h.cost > 0
end
)";
constexpr std::string_view kSpend = R"(
local function change(h)
  local n = max(0, min(h.most - used_of(h), h.cost))
  if n > 0 then charge(h, n) end
  return n > 0
end
)";
constexpr std::string_view kRefund = R"(
local function change(h)
  if h.interval then
    local before = max(h.tat, h.now)
    h.tat = max(h.now, before - h.interval * min(h.cost, h.most))
    return h.tat ~= before
  end
  local before = h.units
  h.units = max(before - h.cost, 0)
  return h.units ~= before
end
)";
// The same, as Fragments::take_back.
constexpr std::string_view kTakeBack = R"(
local function change(h)
  local before, back = h.units, h.cost
  if h.interval then
    before = max(h.tat, h.now)
    back = h.interval * min(h.cost, h.most) - max(0, <up> - <since>) * 1000
    h.tat = max(h.now, before - max(0, back))
    return h.tat ~= before
  end
  if (<since> - h.base) * 1000 < h.x then back = 0 end
  h.units = max(before - back, 0)
  return h.units ~= before
end
)";
constexpr std::string_view kSettle = R"(
local function change(h)
  local place, at = find_hold(h, id)
  if not place then return false end
  local n = remove(h, place, at)
  charge(h, h.cost < 0 and n or h.cost)
  return true
end
)";
constexpr std::string_view kExtend = R"(
local function change(h)
  local place, at = find_hold(h, id)
  if not place then return false end
  insert(h, h.now + h.lasts, remove(h, place, at), id)
  return true
end
)";

// What a look adds to the answer: all that is held, before it is changed as if
// it were charged.
constexpr std::string_view kList = R"(
  local list = {}
  load_pages(h, 1, #h.dir)
  for place = 1, #h.dir, 64 do
    local text = page_at(h, place)
    for at = 1, #text, 32 do
      local stop, n, next = unpack_bytes('<dd', text, at)
      list[#list + 1] = format(':%d:%d:%d:%d:%d:%d', stop - h.now, n,
        unpack_bytes('>I4I4I4I4', text, next))
    end
  end
  local listed = table.concat(list)
)";
constexpr std::string_view kListed =
    "flags, sides = flags + 64, sides .. listed";

// The function change(h): the operation, as it changes a bucket.
std::string_view change_of(const Plan& plan) {
  switch (plan.operation) {
    case Operation::kAuthorize:
      break;
    case Operation::kReserve:
    case Operation::kPeek:
    case Operation::kLook:
      return kReserve;
    case Operation::kSpend:
      return kSpend;
    case Operation::kRefund:
      return plan.charged_at ? kTakeBack : kRefund;
    case Operation::kSettle:
      return kSettle;
    case Operation::kExtend:
      return kExtend;
  }
  return kCharge;
}

// What a level knows of its limit.
constexpr std::string_view kRuleOfGcra =
    "$h.interval, $h.full = <interval>, <interval> * <ceiling>\n";
constexpr std::string_view kRuleOfFixed =
    "$h.counts, $h.period = true, <period>\n";
constexpr std::string_view kRuleOfCalendar =
    "if now < <before> or now >= <next> then\n"
    "  return redis.error_reply('ERR the clocks of client and server ' ..\n"
    "    'are more than a window apart')\n"
    "end\n"
    "$h.counts = true\n"
    "$h.edges = {<before>, <start>, <stop>, <next>, <third>, <fourth>}\n";
constexpr std::string_view kRuleOfConcurrent = "$h.frees = true\n";

}  // namespace

const std::string_view kRead = R"(
<local>$h = held(<key>, <field>, <found>, <head>, <cost>, <ceiling>, <lasts>,
  <flags>)
<rule>if not read_held($h) then
  <foreign>
end
)";

std::string_view rule_of(Kind kind) {
  switch (kind) {
    case Kind::kHeldGcra:
      return kRuleOfGcra;
    case Kind::kHeldFixed:
      return kRuleOfFixed;
    case Kind::kHeldCalendar:
      return kRuleOfCalendar;
    default:
      return kRuleOfConcurrent;
  }
}

void name_operation(const Plan& plan, bool callers_clock, LuaNames* names) {
  const auto name = [names](std::string_view one, bool value) {
    names->set(one, value ? "true" : "false");
  };
  const Operation operation = plan.operation;
  name("for_cost", !is_about_hold(operation));
  name("reserves",
       operation == Operation::kReserve || operation == Operation::kPeek);
  name("holds_ahead", !plan.only_looks);
  names->set("most_holds", std::to_string(kMaxHolds));
  names->set("nano", callers_clock ? "nano" : "0");
  names->set("id_at", callers_clock ? "4" : "1");
  names->set("change", change_of(plan).substr(1));
  names->set("list", plan.only_looks ? kList.substr(1) : "");
  names->set("listed", plan.only_looks ? kListed : "");
}

}  // namespace limitree::redis::held
