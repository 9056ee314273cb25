-- Decides one request as decide.lua does, whatever the algorithms of its limits
-- are: reads every bucket, and then writes all that are to be charged, or none.
--
-- mixed_script.hpp is its other half; the rules are those of core/base/:
-- fixed_window.hpp, sliding_tail.hpp, unit_log.hpp, leaky_step.hpp.
--
-- KEYS   as in decide.lua
-- ARGV   operation, now, and for each key the number of its buckets and their
--        fields, as in decide.lua; then for each bucket
--          kind     which algorithm, see below
--          denies   "1" if the request is denied unless it fits here
--          when     it is charged, as in decide.lua
--          A ... F  numbers, in microseconds unless told otherwise
-- Returns what decide.lua does, with for each bucket a word about what was
-- found; empty if there was nothing.  What is dated after now counts as of now,
-- and is so stored by every request that may write the bucket.
--
--   kind  A       B        C       D         state, and word unless told
--   g     charge s, ns     offset s, ns      TAT in decimal nanoseconds
--   s     cost    ceiling  tick    highest   when the bucket is empty
--   f     cost    ceiling  period            start:units
--   1     cost    ceiling  period            the same; from the first unit
--   c     cost    ceiling  bounds            the same; bounds of 3 windows
--   t u   cost    ceiling  period            start:current:previous; u: up
--   l     cost    ceiling  period  join      sum, entries; word: used, and two
--                                            times waits(), left and charged
-- E is the capacity; of kind g, E and F are the offset under no pressure.
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

-- When the log, with `more` units added or given back, is empty, has room for
-- the request, and has one unit more left of the capacity.
local function waits(log, more, room, capacity)
  local sum = log.sum + more
  if sum == 0 then return ':0:0:0' end
  return format(':%d:%d:%d', left_at(log, 0, more),
    room < 0 and 0 or left_at(log, room, more),
    left_at(log, math.min(sum, capacity) - 1, more))
end

local function read_log(text, period, join)
  local log = {text = text or '\0\0\0\0', first = 5, sum = 0, period = period}
  if #log.text % kEntry ~= 4 then return nil end
  log.sum = unpack_bytes('>I4', log.text)
  while log.first < #log.text do
    local at, units = entry(log, log.first)
    if at + period > now then break end
    log.first, log.sum = log.first + kEntry, log.sum - units
  end
  if log.first < #log.text then
    log.newest, log.units = entry(log, #log.text - kEntry + 1)
    log.ahead = log.newest > up
    log.joins = log.newest >= up or
      join > 0 and floor(log.newest / join) == floor(up / join)
  end
  return log
end

-- The text of a log with `more` units, or less -`more` of the newest.
local function changed_log(log, more)
  local last, instant, units = #log.text, up, 0
  while log.ahead and last > log.first do
    local at, ahead = entry(log, last - kEntry + 1)
    if at <= up then break end
    last, units = last - kEntry, units + ahead
  end
  if more > 0 and log.joins and not log.ahead then
    last, units = last - kEntry, log.units
  end
  units = units + more
  while units < 0 and last > log.first do
    local at, older = entry(log, last - kEntry + 1)
    last, instant, units = last - kEntry, at, units + older
  end
  local tail = units > 0 and pack('>I7I4', instant, units) or ''
  return pack('>I4', log.sum + more) ..
    string.sub(log.text, log.first, last) .. tail
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

-- Reads, and decides.  Of each bucket: what is used, whether it fits, its state
-- as it is now in x, y, z, and whether that was dated after now.
local used, fits, xs, ys, zs, aheads = {}, {}, {}, {}, {}, {}
local words, horizons, allowed = {}, {}, true
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
          from, to = math.min(start, up), math.min(start, up) + c
        end
        if start < from then units = 0 end
        aheads[i] = units > 0 and (start >= to or kind == '1' and start > up)
        if units == 0 or aheads[i] then start = from end
        xs[i], ys[i], zs[i], used[i] = start, units, to, units
      end
    elseif kind == 't' or kind == 'u' then
      c = c + 0
      local from = now - now % c
      local start, current, previous = from, 0, 0
      if text then
        start, current, previous = match(text, '^(%d+):(%d+):(%d+)$')
        good = start ~= nil
      end
      if good then
        local age = from - start
        current, previous = current + 0, previous + 0
        aheads[i] = age <= -c and current + previous > 0
        if aheads[i] then
          current, previous = math.min(current + previous, 4e9), 0
        elseif age > c then
          current, previous = 0, 0
        elseif age > 0 then
          current, previous = 0, current
        end
        xs[i], ys[i], zs[i] = from, current, previous
        used[i] = weight(previous, from + c - now, c, kind == 'u') + current
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
        xs[i], ys[i], used[i], aheads[i] = log, more, log.sum, log.ahead
        local capacity = ARGV[at + 7] + 0
        word = log.sum .. waits(log, 0, room, capacity)
        word = word .. waits(log, more, room, capacity)
      end
    elseif kind == 's' then
      c = c + 0
      local last, level, highest = now - now % c, 0, ARGV[at + 6] + 0
      if text then
        good = match(text, '^%d+$') ~= nil
        if good and text + 0 > last then
          level = floor((text - last - 1) / c) + 1
        end
      end
      xs[i], used[i] = last, math.min(level, highest)
      aheads[i] = level > highest
    else
      local h, l = s, n
      if text then
        h, l = pair_of(text)
        good = h ~= nil
        if good and (h - s) * 1e9 + l - n < 0 then h, l = s, n end
      end
      if good then
        local top, rest = after(s, n, ARGV[at + 7], ARGV[at + 8])
        aheads[i] = (h - top) * 1e9 + l - rest > 0
        if aheads[i] then h, l = top, rest end
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
    words[i] = word
    at = at + 9
  end
end

-- Charges bucket `i`, or gives back to it, and tells whether it is not empty
-- then; nil if it stays as it is.
local function changed(i, at)
  local kind, when, more = ARGV[at], ARGV[at + 2], ARGV[at + 3] + 0
  if when == '0' or operation == 'charge' and not
    (fits[i] and (when == '2' or when == '1' and allowed)) then return nil end
  if kind == 'g' then
    local h, l = xs[i], ys[i]
    local top, rest = after(s, n, ARGV[at + 5], ARGV[at + 6])
    if operation == 'refund' then
      if h == s and l == n then return nil end
      h, l = h - more, l - ARGV[at + 4]
      if l < 0 then h, l = h - 1, l + 1e9 end
    else
      if (h - top) * 1e9 + l - rest >= 0 then return nil end
      h, l = after(h, l, more, ARGV[at + 4])
      if (h - top) * 1e9 + l - rest > 0 then h, l = top, rest end
    end
    xs[i], ys[i] = h, l
    return (h - s) * 1e9 + l - n > 0
  end
  if operation == 'spend' then
    more = math.max(0, math.min(more, ARGV[at + 4] - used[i]))
    if more == 0 then return nil end
  end
  if kind == 'l' then
    if ys[i] == 0 then return nil end
    return xs[i].sum + ys[i] > 0
  end
  if operation ~= 'refund' then
    used[i], ys[i] = used[i] + more, (ys[i] or 0) + more
    return true
  end
  if kind == 's' then
    if used[i] == 0 then return nil end
    used[i] = used[i] - more
    return used[i] > 0
  end
  local tail = kind == 't' or kind == 'u'
  local current, previous = ys[i], tail and zs[i] or 0
  if current + previous == 0 then return nil end
  ys[i] = math.max(0, current - more)
  previous = math.max(0, previous - math.max(0, more - current))
  if tail then zs[i] = previous end
  return ys[i] + previous > 0
end

-- The text of bucket `i`, and the second up to which it counts.
local function text_of(i, at)
  local kind, c = ARGV[at], ARGV[at + 5]
  local x, y, z = xs[i], ys[i], zs[i]
  if kind == 'g' then
    return x == 0 and format('%d', y) or format('%d%09d', x, y), x
  end
  if kind == 'l' then return changed_log(x, y), math.ceil((up + c) / 1e6) end
  if kind == 's' then
    x = x + used[i] * c
    return format('%d', x), math.ceil(x / 1e6)
  end
  if kind == 't' or kind == 'u' then
    return format('%d:%d:%d', x, y, z), math.ceil((x + 2 * c) / 1e6)
  end
  return format('%d:%d', x, y), math.ceil(z / 1e6)
end

-- As in decide.lua.
local function prune(key)
  local all = call('HGETALL', key)
  for f = 1, #all, 2 do
    local field = all[f]
    if field ~= ':' and not string.find(field, '!', 1, true) then
      local h, l = pair_of(all[f + 1])
      if h and (h + linger - s) * 1e9 + l - n <= 0 then
        call('HDEL', key, field)
      end
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
    local change = changed(i, at)
    if change ~= nil then
      flag = '+'
    elseif aheads[i] and ARGV[at + 2] ~= '0' then
      change = true
      if ARGV[at] == 'l' then ys[i] = 0 end
    end
    if change then
      local text, second = text_of(i, at)
      set[#set + 1] = ARGV[fields + j]
      set[#set + 1] = text
      if second > latest then latest = second end
    elseif change == false then
      gone[#gone + 1] = ARGV[fields + j]
    end
    at = at + 9
  end
  if #set > 0 then
    local horizon = horizons[k]
    local is_due = latest + 2 > horizon
    if is_due then
      if horizon > 0 and call('HLEN', key) > count + 1 then prune(key) end
      horizon = 2 * latest - s + linger
      set[#set + 1] = ':'
      set[#set + 1] = horizon
    end
    -- unpack() has room for 8000 values.
    for first = 1, #set, 4000 do
      call('HSET', key, unpack(set, first, math.min(first + 3999, #set)))
    end
    if is_due then call('EXPIRE', key, horizon - s) end
  end
  if #gone > 0 then
    call('HDEL', key, unpack(gone))
    if call('HLEN', key) == 1 then call('DEL', key) end  -- only ":" is left
  end
end
return flag .. ' ' .. reply .. ' ' .. table.concat(words, ' ')
