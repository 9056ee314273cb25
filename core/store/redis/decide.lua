-- Decides one request: reads every bucket, and then writes all that are to be
-- charged, or none.
--
-- core/store/redis/script.hpp is its other half: it makes the arguments, and
-- from the reply core/base/judge.hpp draws the same conclusions.  The vectors
-- of tests/conformance/ and script_differential_test.cpp hold the two together.
--
-- KEYS   families: hashes with a field for each bucket, its TAT in decimal
--        nanoseconds, and the field ":", a second that the key lives to see
-- ARGV   operation: "charge", "spend" or "refund"
--        now, as seconds and nanoseconds; both empty: the server's clock
--        then for each key the number of its buckets, their fields, and for
--        each bucket
--          denies   "1" if the request is denied unless it fits here
--          when     it is written: "0" never, "1" if allowed, "2" if it fits
--          charge   seconds, nanoseconds
--          offset   the burst offset: seconds, nanoseconds
-- Returns, separated by blanks: "+" if anything was written, else "-"; now, as
-- seconds and nanoseconds; the TATs as they were found, empty if there is none.
--
-- Numbers are doubles, which nanoseconds since 1970 do not fit.  So an instant
-- is a pair: seconds, and nanoseconds below 1e9.  (s1 - s2) * 1e9 + n1 - n2 has
-- the right sign however far apart two of them are, and that is all we ask.
local call, sub, find = redis.call, string.sub, string.find
local operation, s, n = ARGV[1], ARGV[2], ARGV[3]

-- How much longer than its TATs a key lives.  With a caller's clock nobody
-- knows when that will be, only that a test does not take an hour.
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
      if h and (h - s) * 1e9 + l - n <= 0 then call('HDEL', key, field) end
    end
  end
end

-- The TAT to be written, and false if the bucket is to be forgotten; nil if it
-- stays as it is.  `h`, `l` is the later of TAT and now.
local function written(h, l, at, allowed)
  local when, seconds, nanoseconds = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local top, rest = plus(s, n, ARGV[at + 4], ARGV[at + 5])  -- an empty bucket
  if when == '0' then return nil end
  if operation == 'refund' then
    if (h - s) * 1e9 + l - n == 0 then return nil end
    if (h - top) * 1e9 + l - rest > 0 then h, l = top, rest end
    h, l = h - seconds, l - nanoseconds
    if l < 0 then h, l = h - 1, l + 1e9 end
    if (h - s) * 1e9 + l - n <= 0 then return false end
    return h, l
  end
  local full = (h - top) * 1e9 + l - rest >= 0
  h, l = plus(h, l, seconds, nanoseconds)
  local over = (h - top) * 1e9 + l - rest > 0
  if operation == 'spend' then
    if full then return nil end
    if over then return top, rest end
    return h, l
  end
  if over or not (allowed or when == '2') then return nil end
  return h, l
end

-- Reads, and decides.
local hs, ls, horizons, allowed = {}, {}, {}, true
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
    reply = reply .. ' ' .. (tat or '')
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
    local h, l = written(hs[bucket], ls[bucket], at, allowed)
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
    flag = '+'
    local horizon = horizons[k]
    if latest + 2 > horizon then
      if horizon > 0 and call('HLEN', key) > count + 1 then prune(key) end
      -- Twice the debt, so that it is not due again with the next request.
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
