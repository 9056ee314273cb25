#include "store/redis/script/held_lua.hpp"

namespace limitree::redis::held {

const std::string_view kPages = R"(
local function load_pages(h, first, last)
  local numbers, names = {}, {}
  for place = first, last, 64 do
    local number = unpack_bytes('<d', h.dir, place)
    if not h.texts[number] then
      numbers[#numbers + 1] = number
      names[#names + 1] = h.name .. format('%d', number)
    end
  end
  if #names == 0 then return end
  local found = call('HMGET', h.key, unpack(names))
  for i, number in ipairs(numbers) do
    local text = found[i]
    h.texts[number] = text and #text % 32 == 0 and text or ''
  end
end
local function page_at(h, place)
  local number = unpack_bytes('<d', h.dir, place)
  local text = h.texts[number]
  if not text then
    text = call('HMGET', h.key, h.name .. format('%d', number))[1]
    if not text or #text % 32 ~= 0 then text = '' end
    h.texts[number] = text
  end
  return text, number
end
local function drop_page(h, number)
  h.dirty[number] = nil
  h.gone[#h.gone + 1] = number
end
local function entry_of(h, number, text)
  h.texts[number], h.dirty[number] = text, text
  local interval, most, full = h.interval, h.most, h.full
  local units, last, a, b, c = 0, 0, -math.huge, 0, math.huge
  for at = 1, #text, 32 do
    local stop, n = unpack_bytes('<dd', text, at)
    units, last = units + n, stop
    if interval then
      local charge = interval * min(n, most)
      a = max(a, stop - b)
      c = min(max(c, stop) + charge, stop + full)
      b = min(b + charge, 9e15)
    end
  end
  return pack('<dddddddd', number, #text / 32, (unpack_bytes('<d', text)),
    last, units, a, b, c)
end
local function new_entry(h, text)
  h.next = h.next + 1
  return entry_of(h, h.next, text)
end
local function splice(h, place, old, entries)
  h.b = -1
  h.dir = sub(h.dir, 1, place - 1) .. entries .. sub(h.dir, place + old)
end
-- Adds a hold that ends after them to the summary of all holds, if known.
local function add_last(h, stop, n)
  if not h.interval or h.b < 0 then return end
  local charge = h.interval * min(n, h.most)
  h.a = max(h.a, stop - h.b)
  h.c = min(max(h.c, stop) + charge, stop + h.full)
  h.b = min(h.b + charge, 9e15)
end
local function insert(h, stop, n, id)
  local hold = pack('<ddc16', stop, n, id)
  h.count, h.held = h.count + 1, h.held + n
  local low, high = 1, #h.dir / 64
  if high == 0 then
    h.dir, h.b = new_entry(h, hold), -1
    return
  end
  -- The last page that begins before it; mostly the last one of all.
  if unpack_bytes('<d', h.dir, high * 64 - 47) <= stop then low = high end
  while low < high do
    local middle = floor((low + high + 1) / 2)
    if unpack_bytes('<d', h.dir, middle * 64 - 47) <= stop then
      low = middle
    else
      high = middle - 1
    end
  end
  local place = low * 64 - 63
  local text, number = page_at(h, place)
  local _, count, first, last, units, a, b, c =
    unpack_bytes('<dddddddd', h.dir, place)
  if stop >= last and place + 63 == #h.dir then
    add_last(h, stop, n)
    if #text >= 1024 then
      h.dir = h.dir .. new_entry(h, hold)
      return
    end
    text = text .. hold
    h.texts[number], h.dirty[number] = text, text
    if h.interval then
      local charge = h.interval * min(n, h.most)
      a = max(a, stop - b)
      c = min(max(c, stop) + charge, stop + h.full)
      b = min(b + charge, 9e15)
    end
    h.dir = sub(h.dir, 1, place - 1) .. pack('<dddddddd', number, count + 1,
      first, stop, units + n, a, b, c)
    return
  end
  local at = #text + 1
  while at > 1 and unpack_bytes('<d', text, at - 32) > stop do at = at - 32 end
  text = sub(text, 1, at - 1) .. hold .. sub(text, at)
  if #text <= 1024 then
    splice(h, place, 64, entry_of(h, number, text))
  else
    splice(h, place, 64, entry_of(h, number, sub(text, 1, 512)) ..
      new_entry(h, sub(text, 513)))
  end
end
local function remove(h, place, at)
  local text, number = page_at(h, place)
  local _, n = unpack_bytes('<dd', text, at)
  h.count, h.held = h.count - 1, h.held - n
  text = sub(text, 1, at - 1) .. sub(text, at + 32)
  if text == '' then
    drop_page(h, number)
    splice(h, place, 64, '')
    return n
  end
  for other = place - 64, place + 64, 128 do
    if other > 0 and other < #h.dir then
      local _, more = unpack_bytes('<dd', h.dir, other)
      if #text / 32 + more <= 24 then
        local beside, its = page_at(h, other)
        drop_page(h, its)
        text = other < place and beside .. text or text .. beside
        splice(h, min(place, other), 128, entry_of(h, number, text))
        return n
      end
    end
  end
  splice(h, place, 64, entry_of(h, number, text))
  return n
end
local function find_hold(h, id)
  for first = 1, #h.dir, 512 do
    local last = min(first + 511, #h.dir)
    load_pages(h, first, last)
    for place = first, last, 64 do
      local text = page_at(h, place)
      local at = string.find(text, id, 1, true)
      while at and at % 32 ~= 17 do
        at = string.find(text, id, at + 1, true)
      end
      if at then return place, at - 16 end
    end
  end
end
-- For another limit, or with instants after another base.
local function rebuild(h, shift)
  local holds, entries, held, count = {}, {}, 0, 0
  load_pages(h, 1, #h.dir)
  for place = 1, #h.dir, 64 do
    local text, number = page_at(h, place)
    if shift == 0 and text ~= '' then
      local entry = entry_of(h, number, text)
      local _, n, _, _, units = unpack_bytes('<ddddd', entry)
      entries[#entries + 1], h.dirty[number] = entry, nil  -- as it was
      held, count = held + units, count + n
    else
      for at = 1, #text, 32 do
        local stop, n = unpack_bytes('<dd', text, at)
        holds[#holds + 1] =
          pack('<dd', stop + shift, n) .. sub(text, at + 16, at + 31)
        held = held + n
      end
      drop_page(h, number)
    end
  end
  for first = 1, #holds, 24 do
    entries[#entries + 1] = new_entry(h,
      table.concat(holds, '', first, min(first + 23, #holds)))
  end
  h.dir, h.b, h.booked = table.concat(entries), -1, true
  h.count, h.held = count + #holds, held
end
)";

// What is in use falls all the time, so that a page is passed at once if too
// much is in use after it.
const std::string_view kTimes = R"(
local function window(h, at)
  local base, edges = h.base, h.edges
  if h.period then
    local us = base + floor(at / 1000)
    local x = us - us % h.period - base
    return x * 1000, (x + h.period) * 1000
  elseif not edges then
    return -math.huge, math.huge
  end
  for i = 2, #edges do
    local z = (edges[i] - base) * 1000
    if at < z then return (edges[i - 1] - base) * 1000, z end
  end
  local a, b = edges[#edges - 1], edges[#edges]
  return (b - base) * 1000, (b + b - a - base) * 1000
end
local function used_of(h)
  if not h.interval then return h.held + h.units end
  local owed = max(h.tat - h.now, 0)
  local rest = math.fmod(owed, h.interval)
  return h.held + (owed - rest) / h.interval + (rest > 0 and 1 or 0)
end
local function has_room(h, most)
  if not h.interval then return h.held + h.units <= most end
  return h.held <= most and
    max(h.tat - h.now, 0) <= h.interval * (most - h.held)
end
local function charge(h, n)
  if h.interval then
    h.tat = min(max(h.tat, h.now) + h.interval * min(n, h.most),
      h.now + h.full)
  elseif h.counts then
    h.units = max(h.units, min(h.units + n, h.most))
  end
end
local function units_from(h, place, x)
  local text, sum = page_at(h, place), 0
  for at = #text - 31, 1, -32 do
    local stop, n = unpack_bytes('<dd', text, at)
    if stop < x then break end
    sum = sum + n
  end
  return sum
end
-- Takes what has ended.
local function book(h)
  local place, late, ended = 1, h.late, 0
  local function pass(stop, n)
    if h.interval then
      if not h.frees then
        h.tat = min(max(h.tat, stop) + h.interval * min(n, h.most),
          stop + h.full)
      end
    elseif not late or stop >= h.x then
      ended = ended + n
    end
  end
  while place < #h.dir do
    local _, count, first, last, n, a, b, c =
      unpack_bytes('<dddddddd', h.dir, place)
    if first > h.now then break end
    h.booked = true
    if last > h.now then
      local text, number = page_at(h, place)
      local at = 1
      while at < #text do
        local stop, k = unpack_bytes('<dd', text, at)
        if stop > h.now then break end
        pass(stop, k)
        h.count, h.held, at = h.count - 1, h.held - k, at + 32
      end
      text = sub(text, at)
      if text ~= '' then
        splice(h, place, 64, entry_of(h, number, text))
        break
      end
    end
    if last <= h.now then
      if h.interval then
        if not h.frees then h.tat = min(max(h.tat, a) + b, c) end
      elseif not late or first >= h.x then
        ended = ended + n
      elseif last >= h.x then
        ended = ended + units_from(h, place, h.x)
      end
      h.count, h.held = h.count - count, h.held - n
    end
    drop_page(h, (unpack_bytes('<d', h.dir, place)))
    place = place + 64
  end
  if place > 1 then h.dir, h.b = sub(h.dir, place), -1 end
  -- What seems to end in more than a day was held before the clock was set
  -- back, and ends now.
  local latest = h.now + 9e13
  while h.dir ~= '' and unpack_bytes('<d', h.dir, #h.dir - 39) > latest do
    local text, number = page_at(h, #h.dir - 63)
    while text ~= '' do
      local stop, n = unpack_bytes('<dd', text, #text - 31)
      if stop <= latest then break end
      pass(h.now, n)
      h.count, h.held = h.count - 1, h.held - n
      text = sub(text, 1, -33)
    end
    h.booked = true
    h.dir, h.b = sub(h.dir, 1, -65), -1
    if text == '' then
      drop_page(h, number)
    else
      h.dir = h.dir .. entry_of(h, number, text)
    end
  end
  if h.dir == '' then h.count, h.held = 0, 0 end
  return h.frees and 0 or ended
end
local function empty_at(h)
  local last, tat = h.now, h.tat
  if h.interval then
    if h.frees then
      if #h.dir > 0 then last = unpack_bytes('<d', h.dir, #h.dir - 39) end
      return max(last, tat)
    end
    if h.dir == '' then return max(last, tat) end
    if h.b < 0 then
      local first, more, most = -math.huge, 0, math.huge
      for place = 41, #h.dir, 64 do
        local a, b, c = unpack_bytes('<ddd', h.dir, place)
        first = max(first, a - more)
        most = min(max(most, a) + b, c)
        more = min(more + b, 9e15)
      end
      h.a, h.b, h.c = first, more, most
    end
    last = unpack_bytes('<d', h.dir, #h.dir - 39)
    return max(last, min(max(tat, h.a) + h.b, h.c))
  end
  local x, z, units = h.x, h.z, h.units
  if #h.dir > 0 then
    last = unpack_bytes('<d', h.dir, #h.dir - 39)
    x, z = window(h, last)
    units = not h.frees and 1 or x == h.x and units or 0
  end
  return units > 0 and z or last
end
local function gcra_at(h, most)
  local tat, at, held = h.tat, h.now, h.held
  local interval, full, frees = h.interval, h.full, h.frees
  local function alone()
    if held > most then return math.huge end
    return max(at, min(tat, at + full) - interval * (most - held))
  end
  for place = 1, #h.dir, 64 do
    local _, _, _, last, n, a, b, c =
      unpack_bytes('<dddddddd', h.dir, place)
    local later, rest = frees and tat or min(max(tat, a) + b, c), held - n
    if rest > most or
      min(max(later - last, 0), full) > interval * (most - rest) then
      tat, at, held = later, last, rest
    else
      local text = page_at(h, place)
      for from = 1, #text, 32 do
        local stop, k = unpack_bytes('<dd', text, from)
        local free = alone()
        if free <= stop then return free end
        if not frees then
          tat = min(max(tat, stop) + interval * min(k, h.most), stop + full)
        end
        at, held = stop, held - k
        if held <= most and
          min(max(tat - at, 0), full) <= interval * (most - held) then
          return stop
        end
      end
    end
  end
  return alone()
end
local function counts_at(h, most)
  local x, z, units, held, frees = h.x, h.z, h.units, h.held, h.frees
  for place = 1, #h.dir, 64 do
    local _, _, first, last, n = unpack_bytes('<ddddd', h.dir, place)
    local start, stop = window(h, last)
    local later = start == x and units or 0
    if not frees then
      local more = first >= start and n or units_from(h, place, start)
      later = max(later, min(later + more, h.most))
    end
    if later + held - n > most then
      x, z, units, held = start, stop, later, held - n
    else
      local text = page_at(h, place)
      for from = 1, #text, 32 do
        local ends, k = unpack_bytes('<dd', text, from)
        if held <= most and z <= ends then return z end
        start, stop = window(h, ends)
        if start > x then units = 0 end
        x, z, held = start, stop, held - k
        if not frees then units = max(units, min(units + k, h.most)) end
        if units + held <= most then return ends end
      end
    end
  end
  return z
end
)";

}  // namespace limitree::redis::held
