-- Decides one request as decide.lua does, whatever the algorithms of its limits
-- are: reads every bucket, and then writes all that are to be charged, or none.
--
-- core/store/redis/mixed_script.hpp is its other half; the rules are those of
-- core/base/: fixed_window.hpp, sliding_tail.hpp, unit_log.hpp, leaky_step.hpp.
--
-- KEYS   as in decide.lua
-- ARGV   operation, now, and for each key the number of its buckets and their
--        fields, as in decide.lua; then for each bucket
--          kind     which algorithm, see below
--          denies   "1" if the request is denied unless it fits here
--          when     it is written: "0" never, "1" if allowed, "2" if it fits
--          A B C D  numbers, in microseconds unless told otherwise
-- Returns what decide.lua does, with for each bucket a word about what was
-- found; empty if there was nothing.
--
--   kind  A       B        C       D         state, and word unless told
--   g     charge s, ns     offset s, ns      TAT in decimal nanoseconds
--   s     cost    ceiling  tick    highest   when the bucket is empty
--   f     cost    ceiling  period            start:units
--   1     cost    ceiling  period            the same; from the first unit
--   c     cost    ceiling  bounds            the same; bounds of 3 windows
--   t u   cost    ceiling  period            start:current:previous; u: up
--   l     cost    ceiling  period  join      sum, entries; word: used, and 4
--                                            instants, see left_at()
--
-- Microseconds since 1970 are whole numbers that a double holds, up to the year
-- 2255, and so are products that stay below 2^53.
local call, match, floor = redis.call, string.match, math.floor
local format, pack, unpack_bytes = string.format, struct.pack, struct.unpack
local operation, s, n = ARGV[1], ARGV[2], ARGV[3]

local linger = 3600  -- see decide.lua
if s == '' then
  local time = call('TIME')
  s, n, linger = time[1], time[2] .. '000', 2
end
local reply = s .. ' ' .. n
s, n = s + 0, n + 0
local now = s * 1e6 + floor(n / 1000)
local up = n % 1000 > 0 and now + 1 or now  -- what is held against callers

-- floor(a * b / c), for b <= c.
local function mul_div(a, b, c)
  if a * b < 9e15 then return floor(a * b / c) end
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
  return q, r
end

local function weight(units, inside, period, round_up)
  if not round_up then return (mul_div(units, inside, period)) end
  return units - (mul_div(units, period - inside, period))
end

-- A log: the sum of its units in 4 bytes, then 7 bytes of an instant and 4 of
-- its units for each entry; of these the ones from `first` on count.
local kEntry = 11
local function entry(log, at) return unpack_bytes('>I7I4', log.text, at) end

-- When no more than `most` units are left, with `more` added or given back: 0
-- if it is so now.
local function left_at(log, most, more)
  local over, size = log.sum + more - most, #log.text
  if over <= 0 then return 0 end
  if most == 0 and more > 0 then return up + log.period end
  if most == 0 and more == 0 then
    return math.min(log.newest, up) + log.period
  end
  for at = log.first, size, kEntry do
    if at + kEntry > size and more > 0 and log.joins then break end
    local instant, units = entry(log, at)
    over = over - units
    if over <= 0 then return math.min(instant, up) + log.period end
  end
  return up + log.period
end

local function read_log(text, period, join)
  local log = {text = text or '\0\0\0\0', first = 5, sum = 0, period = period,
    next = up}
  if #log.text % kEntry ~= 4 then return nil end
  log.sum = unpack_bytes('>I4', log.text)
  while log.first < #log.text do
    local at, units = entry(log, log.first)
    if at + period > now then break end
    log.first, log.sum = log.first + kEntry, log.sum - units
  end
  if log.first < #log.text then
    log.newest, log.units = entry(log, #log.text - kEntry + 1)
    log.next = math.max(up, log.newest)
    if join == 0 then
      log.joins = log.newest == log.next
    else
      log.joins = floor(log.newest / join) == floor(log.next / join)
    end
  end
  return log
end

-- The text of a log with `more` units, or less -`more` of the newest.
local function changed_log(log, more)
  local text, last = log.text, #log.text
  local tail = ''
  if more > 0 then
    local units = more
    if log.joins then units, last = units + log.units, last - kEntry end
    tail = pack('>I7I4', log.next, units)
  else
    local less = -more
    while less > 0 and last > log.first do
      local at, units = entry(log, last - kEntry + 1)
      last = last - kEntry
      if units > less then tail = pack('>I7I4', at, units - less) end
      less = less - units
    end
  end
  return pack('>I4', log.sum + more) .. string.sub(text, log.first, last) ..
    tail
end

-- A TAT as it is stored, or nil if it is none.
local function pair_of(tat)
  if #tat > 19 or not string.find(tat, '^%d+$') then return nil end
  if #tat < 10 then return 0, tat + 0 end
  return string.sub(tat, 1, -10) + 0, string.sub(tat, -9) + 0
end

local function after(h, l, seconds, nanoseconds)
  h, l = h + seconds, l + nanoseconds
  if l >= 1e9 then return h + 1, l - 1e9 end
  return h, l
end

-- Reads, and decides.  Of each bucket: what is used, whether it fits, and its
-- state as it is now in x, y, z.
local used, fits, xs, ys, zs = {}, {}, {}, {}, {}
local horizons, allowed = {}, true
local at, i = 4, 0
for k, key in ipairs(KEYS) do
  local count = ARGV[at] + 0
  local found = call('HMGET', key, ':', unpack(ARGV, at + 1, at + count))
  horizons[k] = (found[1] or 0) + 0
  at = at + count + 1
  for j = 2, count + 1 do
    i = i + 1
    local text, kind = found[j], ARGV[at]
    local word, good = text or '', true
    local cost, ceiling, c = ARGV[at + 3], ARGV[at + 4] + 0, ARGV[at + 5]
    if kind == 'f' or kind == '1' or kind == 'c' then
      local start, units = now, 0
      if text then
        start, units = match(text, '^(%d+):(%d+)$')
        good = start ~= nil
        if good then start, units = start + 0, units + 0 end
      end
      if good then
        local from, to
        if kind == 'f' then
          c = c + 0
          from = now - now % c
          to = from + c
        elseif kind == 'c' then
          local bounds = {match(c, '^(%d+):(%d+):(%d+):(%d+)$')}
          local b = 2
          while b < 4 and now >= bounds[b] + 0 do b = b + 1 end
          from, to = bounds[b - 1] + 0, bounds[b] + 0
          if now < from or now >= to then
            return redis.error_reply('ERR the clocks of client and server ' ..
              'are more than a window apart')
          end
        elseif units == 0 or start + c <= now then
          from, to, units = up, up + c, 0
        else
          from, to = start, start + c
        end
        if units == 0 or start < from then
          xs[i], ys[i], zs[i] = from, 0, to
        elseif start > up then
          xs[i], ys[i], zs[i] = start, units, start + to - from
        else
          xs[i], ys[i], zs[i] = start, units, to
        end
        used[i] = ys[i]
      end
    elseif kind == 't' or kind == 'u' then
      c = c + 0
      local from = now - now % c
      local start, current, previous, inside = from, 0, 0, from + c - now
      if text then
        start, current, previous = match(text, '^(%d+):(%d+):(%d+)$')
        good = start ~= nil
      end
      if good then
        start, current, previous = start + 0, current + 0, previous + 0
        if start > up and current + previous > 0 then
          inside = c
        elseif from - start > c then
          start, current, previous = from, 0, 0
        elseif from > start then
          start, current, previous = from, 0, current
        else
          start = from
        end
        xs[i], ys[i], zs[i] = start, current, previous
        used[i] = weight(previous, inside, c, kind == 'u') + current
      end
    elseif kind == 'l' then
      local log = read_log(text, c + 0, ARGV[at + 6] + 0)
      good = log ~= nil
      if good then
        cost = cost + 0
        local more, room = 0, ceiling - cost
        if operation == 'refund' then
          more = -math.min(cost, log.sum)
        elseif operation == 'spend' then
          more = math.max(0, math.min(cost, ceiling - log.sum))
        elseif log.sum <= room then
          more = cost
        end
        xs[i], ys[i], used[i] = log, more, log.sum
        word = log.sum .. ':0:0:0:0'
        if log.sum + more > 0 and room >= 0 then
          word = format('%d:%d:%d:%d:%d', log.sum, left_at(log, 0, 0),
            left_at(log, room, 0), left_at(log, 0, more),
            left_at(log, room, more))
        elseif log.sum + more > 0 then
          word = format('%d:%d:0:%d:0', log.sum, left_at(log, 0, 0),
            left_at(log, 0, more))
        end
      end
    elseif kind == 's' then
      c = c + 0
      local last, level = now - now % c, 0
      if text then
        good = match(text, '^%d+$') ~= nil
        if good and text + 0 > last then
          level = math.min(floor((text - last - 1) / c) + 1, ARGV[at + 6] + 0)
        end
      end
      xs[i], used[i] = last, level
    else
      local h, l = s, n
      if text then
        h, l = pair_of(text)
        good = h ~= nil
        if good and (h - s) * 1e9 + l - n < 0 then h, l = s, n end
      end
      if good then
        xs[i], ys[i] = h, l
        fits[i] = (h + cost - s - c) * 1e9 + l + ceiling - n - ARGV[at + 6] <= 0
      end
    end
    if not good then
      return redis.error_reply('WRONGTYPE a field of ' .. key ..
        ' holds no state of a limit')
    end
    if kind ~= 'g' then fits[i] = used[i] + cost <= ceiling end
    if ARGV[at + 1] == '1' and not fits[i] then allowed = false end
    reply = reply .. ' ' .. word
    at = at + 7
  end
end

-- What bucket `i` becomes when it is charged: its text and the second up to
-- which it counts; false if it is to be forgotten, nil if it stays as it is.
local function written(i, at)
  local kind, when = ARGV[at], ARGV[at + 2]
  if when == '0' then return nil end
  if operation == 'charge' and not (fits[i] and (allowed or when == '2')) then
    return nil
  end
  if kind == 'g' then
    local h, l = xs[i], ys[i]
    local seconds, nanoseconds = ARGV[at + 3], ARGV[at + 4]
    local top, rest = after(s, n, ARGV[at + 5], ARGV[at + 6])
    if operation == 'refund' then
      if h == s and l == n then return nil end
      if (h - top) * 1e9 + l - rest > 0 then h, l = top, rest end
      h, l = h - seconds, l - nanoseconds
      if l < 0 then h, l = h - 1, l + 1e9 end
      if (h - s) * 1e9 + l - n <= 0 then return false end
    else
      if operation == 'spend' and (h - top) * 1e9 + l - rest >= 0 then
        return nil
      end
      h, l = after(h, l, seconds, nanoseconds)
      if (h - top) * 1e9 + l - rest > 0 then h, l = top, rest end
    end
    if h == 0 then return format('%d', l), h end
    return format('%d%09d', h, l), h
  end
  local more, c = ARGV[at + 3] + 0, ARGV[at + 5]
  if operation == 'spend' then
    more = math.max(0, math.min(more, ARGV[at + 4] - used[i]))
    if more == 0 then return nil end
  end
  if kind == 'l' then
    local log = xs[i]
    if ys[i] == 0 then return nil end
    if log.sum + ys[i] == 0 then return false end
    return changed_log(log, ys[i]), math.ceil((log.next + c) / 1e6)
  end
  if kind == 's' then
    local level = used[i] + more
    if operation == 'refund' then
      if used[i] == 0 then return nil end
      level = used[i] - more
    end
    if level <= 0 then return false end
    local empty = xs[i] + level * c
    return format('%d', empty), math.ceil(empty / 1e6)
  end
  local current, previous = ys[i], kind ~= 't' and kind ~= 'u' and 0 or zs[i]
  if operation == 'refund' then
    if current + previous == 0 then return nil end
    local newest = math.min(more, current)
    current = current - newest
    previous = math.max(0, previous - (more - newest))
    if current + previous == 0 then return false end
  else
    current = current + more
  end
  if kind == 't' or kind == 'u' then
    return format('%d:%d:%d', xs[i], current, previous),
      math.ceil((xs[i] + 2 * c) / 1e6)
  end
  return format('%d:%d', xs[i], current), math.ceil(zs[i] / 1e6)
end

-- As in decide.lua.
local function prune(key)
  local all = call('HGETALL', key)
  for f = 1, #all, 2 do
    local field = all[f]
    if field ~= ':' and not string.find(field, '!', 1, true) then
      local h, l = pair_of(all[f + 1])
      if h and (h - s) * 1e9 + l - n <= 0 then call('HDEL', key, field) end
    end
  end
end

-- Writes.
local flag = '-'
at, i = 4, 0
for k, key in ipairs(KEYS) do
  local count, fields = ARGV[at] + 0, at
  local latest, set, gone = 0, {}, {}
  at = at + count + 1
  for j = 1, count do
    i = i + 1
    local text, second = written(i, at)
    if text then
      set[#set + 1] = ARGV[fields + j]
      set[#set + 1] = text
      if second > latest then latest = second end
    elseif text == false then
      gone[#gone + 1] = ARGV[fields + j]
    end
    at = at + 7
  end
  if #set > 0 then
    flag = '+'
    local horizon = horizons[k]
    if latest + 2 > horizon then
      if horizon > 0 and call('HLEN', key) > count + 1 then prune(key) end
      horizon = 2 * latest - s + linger
      call('HSET', key, ':', horizon, unpack(set))
      call('EXPIRE', key, horizon - s)
    else
      call('HSET', key, unpack(set))
    end
  end
  if #gone > 0 then
    flag = '+'
    call('HDEL', key, unpack(gone))
    if call('HLEN', key) == 1 then call('DEL', key) end  -- only ":" is left
  end
end
return flag .. ' ' .. reply
