-- Forgets buckets, and returns how many there were.
--
-- KEYS   families, as in decide.lua
-- ARGV   for each of them the number of its buckets, and their fields
local sum, at = 0, 1
for _, key in ipairs(KEYS) do
  local count = ARGV[at] + 0
  sum = sum + redis.call('HDEL', key, unpack(ARGV, at + 1, at + count))
  -- ":" holds no bucket: it goes with the last one.
  if redis.call('HLEN', key) == 1 and redis.call('HEXISTS', key, ':') == 1 then
    redis.call('DEL', key)
  end
  at = at + count + 1
end
return sum
