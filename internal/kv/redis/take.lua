-- One take of a rate limit, the twin of kv.Spend.Take. Times are in microseconds.
-- KEYS[1] the bucket: the instant at which it will be full
-- ARGV    burst, need (negative to give back), 1 to spend or 0 to look, now or -1 for the server's clock
-- returns whether it is allowed, and how far from full the bucket is then
local burst, need, spends, now = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1', tonumber(ARGV[4])
if now < 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local full = tonumber(redis.call('GET', KEYS[1]) or 0)
local level = math.min(math.max(full - now, 0), burst)
local allowed = level + need <= burst
if allowed and spends then
  level = math.max(level + need, 0)
end
-- written when it moved: by the take, or because it lay further away than empty, after a clock was put back
if level > 0 and (allowed and spends or full - now > burst) then
  -- in full, since Lua's own conversion keeps 14 digits and servers differ in theirs
  redis.call('SET', KEYS[1], string.format('%.0f', now + level), 'PX', math.ceil(level / 1000))
elseif level == 0 and spends then
  redis.call('DEL', KEYS[1])
end
return {allowed and 1 or 0, level}
