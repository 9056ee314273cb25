-- Decides one request: reads every bucket, and then writes all that are to be
-- charged, or none.
--
-- script.hpp is its other half: it makes the arguments, and from the reply
-- core/base/judge.hpp draws the same conclusions.  The vectors of
-- tests/conformance/ and script_differential_test.cpp hold the two together.
--
-- KEYS   families: hashes with a field for each bucket, its TAT in decimal
--        nanoseconds, and the field ":", a second that the key lives to see
-- ARGV   operation: "charge", "spend" or "refund"
--        now, as seconds and nanoseconds; both empty: the server's clock
--        then for each key the number of its buckets, their fields, and for
--        each bucket
--          denies   "1" if the request is denied unless it fits here
--          when     it is charged: "1" if allowed, "2" if it fits, "3" never;
--                   "0" if it may not be written at all
--          charge   seconds, nanoseconds
--          offset   the burst offset: seconds, nanoseconds
-- Returns, separated by blanks: "+" if anything was charged, else "-"; now, as
-- seconds and nanoseconds; the TATs as they were found, empty if there is none.
--
-- A bucket never owes more than it holds: where a TAT lies beyond that (a limit
-- was relaxed, a clock stepped back), every request that may write the bucket
-- stores the TAT of an empty one, whatever else becomes of it.
--
-- Numbers are doubles, which nanoseconds since 1970 do not fit.  So an instant
-- is a pair: seconds, and nanoseconds below 1e9.  (s1 - s2) * 1e9 + n1 - n2 has
-- the right sign however far apart two of them are, and that is all we ask.
local call, sub, find = redis.call, string.sub, string.find
local operation, s, n = ARGV[1], ARGV[2], ARGV[3]

-- How much longer than its TATs a key and a field live.  With a caller's clock
-- nobody knows when that will be, only that a test does not take an hour.
local linger = 3600
if s == '' then
  local time = call('TIME')
  s, n, linger = time[1], time[2] .. '000', 2
end
local reply = s .. ' ' .. n
s, n = s + 0, n + 0

local function plus(h, l, seconds, nanoseconds)
  h, l = h + seconds, l + nanoseconds
  if l >= 1e9 then return h + 1, l - 1e9 end
  return h, l
end

local function text_of(h, l)
  if h == 0 then return string.format('%d', l) end
  return string.format('%d%09d', h, l)
end

-- A TAT as it is stored, or nil if it is none.
local function pair_of(tat)
  if #tat > 19 or not find(tat, '^%d+$') then return nil end
  if #tat < 10 then return 0, tat + 0 end
  return sub(tat, 1, -10) + 0, sub(tat, -9) + 0
end

-- Forgets the buckets of a key that are full again: they would stay as long as
-- any other of them is in use.  Names with "!" hold something else than TATs.
local function prune(key)
  local all = call('HGETALL', key)
  for i = 1, #all, 2 do
    local field = all[i]
    if field ~= ':' and not find(field, '!', 1, true) then
      local h, l = pair_of(all[i + 1])
      if h and (h + linger - s) * 1e9 + l - n <= 0 then
        call('HDEL', key, field)
      end
    end
  end
end

-- The TAT to be written, or false if the bucket is to be forgotten; nil if it
-- stays as it is; then whether it is charged.  `h`, `l` is the later of the TAT
-- and now.
local function written(h, l, at, allowed)
  local when, seconds, nanoseconds = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  if when == '0' then return nil end
  local top, rest = plus(s, n, ARGV[at + 4], ARGV[at + 5])  -- an empty bucket
  local room = (top - h) * 1e9 + rest - l
  if room < 0 then h, l = top, rest end
  if operation == 'refund' then
    if (h - s) * 1e9 + l - n == 0 then return nil end
    h, l = h - seconds, l - nanoseconds
    if l < 0 then h, l = h - 1, l + 1e9 end
    if (h - s) * 1e9 + l - n <= 0 then return false, nil, true end
    return h, l, true
  end
  if room < 0 then return top, rest, false end
  if room == 0 and operation == 'spend' then return nil end
  h, l = plus(h, l, seconds, nanoseconds)
  local over = (h - top) * 1e9 + l - rest > 0
  if operation == 'spend' then
    if over then return top, rest, true end
    return h, l, true
  end
  if over or not (when == '2' or when == '1' and allowed) then return nil end
  return h, l, true
end

-- Reads, and decides.
local hs, ls, tats, horizons, allowed = {}, {}, {}, {}, true
local at, bucket = 4, 0
for k, key in ipairs(KEYS) do
  local count = ARGV[at] + 0
  local found = call('HMGET', key, ':', unpack(ARGV, at + 1, at + count))
  horizons[k] = (found[1] or 0) + 0
  at = at + count + 1
  for j = 2, count + 1 do
    local h, l = s, n
    local tat = found[j]
    if tat then
      h, l = pair_of(tat)
      if not h then
        return redis.error_reply('WRONGTYPE a field of ' .. key ..
          ' holds no time')
      end
      if (h - s) * 1e9 + l - n < 0 then h, l = s, n end
    end
    bucket = bucket + 1
    hs[bucket], ls[bucket] = h, l
    tats[bucket] = tat or ''
    if ARGV[at] == '1' and (h + ARGV[at + 2] - s - ARGV[at + 4]) * 1e9 +
      l + ARGV[at + 3] - n - ARGV[at + 5] > 0 then allowed = false end
    at = at + 6
  end
end

-- Writes.
local flag = '-'
at, bucket = 4, 0
for k, key in ipairs(KEYS) do
  local count, fields = ARGV[at] + 0, at
  local latest, set, gone = 0, {}, {}
  at = at + count + 1
  for j = 1, count do
    bucket = bucket + 1
    local h, l, charged = written(hs[bucket], ls[bucket], at, allowed)
    if charged then flag = '+' end
    if h then
      set[#set + 1] = ARGV[fields + j]
      set[#set + 1] = text_of(h, l)
      if h > latest then latest = h end
    elseif h == false then
      gone[#gone + 1] = ARGV[fields + j]
    end
    at = at + 6
  end
  if #set > 0 then
    local horizon = horizons[k]
    local is_due = latest + 2 > horizon
    if is_due then
      if horizon > 0 and call('HLEN', key) > count + 1 then prune(key) end
      -- Twice the debt, so that it is not due again with the next request.
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
return flag .. ' ' .. reply .. ' ' .. table.concat(tats, ' ')
