/* The scripts. Times are in milliseconds, and 0 is for ever. */
#include "tier/redis/redis_scripts.h"

/* What several keep has the longest time that anybody wants: it is never shortened. */
#define LENGTHEN                                                                                      \
    "local function lengthen(key, ms, new) "                                                          \
    "if ms == 0 then redis.call('PERSIST', key) return end "                                          \
    "local left = redis.call('PTTL', key) "                                                           \
    "if new or (left >= 0 and left < ms) then redis.call('PEXPIRE', key, ms) end "                    \
    "end "

/*
 * The reply of a command; nil if its key has another type, which a stranger gave it: it is damaged, and no object. Any other error
 * ends the script. TYPE isn't asked, so that no user needs a permission more.
 */
#define WELL                                                                                          \
    "local function well(...) "                                                                       \
    "local reply = redis.pcall(...) "                                                                 \
    "if type(reply) ~= 'table' then return reply end "                                                \
    "if reply.err and string.find(reply.err, 'WRONGTYPE', 1, true) then return nil end "              \
    "return redis.call(...) "                                                                         \
    "end "

/* nil: there is none, or no number that could be one. */
#define TOKEN                                                                                         \
    WELL                                                                                              \
    "local function token_of(key) "                                                                   \
    "local token = tonumber(well('GET', key) or '') "                                                 \
    "if token and token >= 1 and token < 9007199254740992 then return token end "                     \
    "end "

#define FENCE                                                                                         \
    TOKEN                                                                                             \
    "local function fenced(key, token) "                                                              \
    "if token == '' then return false end "                                                           \
    "local latest = token_of(key) "                                                                   \
    "return latest and latest > tonumber(token) "                                                     \
    "end "

char const gci_script_store_head[] =
    LENGTHEN FENCE
    "if fenced(KEYS[2], ARGV[4]) then return -1 end "
    "for i = 3, #KEYS do if redis.call('EXISTS', KEYS[i]) == 0 then return -2 end end "
    "local new, ms = redis.call('EXISTS', KEYS[1]) == 0, tonumber(ARGV[3]) "
    "if not well('HSET', KEYS[1], ARGV[1], ARGV[2]) then "
    "redis.call('UNLINK', KEYS[1]) "
    "redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) "
    "new = true "
    "end "
    "lengthen(KEYS[1], ms, new) "
    /* A holder from before is known as such as long as what it might replace is there. */
    "if ARGV[4] ~= '' then lengthen(KEYS[2], ms, false) end "
    "return 1";

/* What several publish is there as long as the one wants it who wants it longest. */
char const gci_script_store[] =
    "local left, ms = redis.call('PTTL', KEYS[1]), tonumber(ARGV[2]) "
    "if left == -1 then redis.call('SET', KEYS[1], ARGV[1]) "
    "else redis.call('SET', KEYS[1], ARGV[1], 'PX', math.max(left, ms)) end "
    "return 1";

char const gci_script_check[] =
    FENCE
    "if fenced(KEYS[1], ARGV[1]) then return -1 end "
    "return 1";

char const gci_script_remove[] =
    FENCE
    "if fenced(KEYS[2], ARGV[1]) then return -1 end "
    "if ARGV[2] == '' or not well('HDEL', KEYS[1], ARGV[2]) then redis.call('UNLINK', KEYS[1]) end "
    "return 1";

char const gci_script_clear[] =
    WELL
    "if well('GET', KEYS[1]) == nil then redis.call('UNLINK', KEYS[1]) end "
    "return 1";

char const gci_script_touch[] =
    LENGTHEN
    "lengthen(KEYS[1], tonumber(ARGV[1]), false) "
    "return 1";

/*
 * A token is the server's time in microseconds, or one more than the one before if that is larger: tokens go on growing when the
 * server has forgotten the one before (evicted it, or was emptied). Lua's numbers hold them exactly until the year 2255.
 */
char const gci_script_lease[] =
    TOKEN
    "local holder, latest = well('GET', KEYS[1]), token_of(KEYS[2]) "
    "if holder and holder ~= ARGV[1] then return 0 end "
    "if not (holder and latest) then "
    "local time = redis.pcall('TIME') "
    "local now = time.err and 1 or time[1] * 1000000 + time[2] "
    "local left, ms = latest and redis.call('PTTL', KEYS[2]) or -2, tonumber(ARGV[3]) "
    "latest = math.max((latest or 0) + 1, now) "
    "redis.call('SET', KEYS[2], string.format('%.0f', latest)) "
    "if ms ~= 0 and left ~= -1 then redis.call('PEXPIRE', KEYS[2], math.max(left, ms)) end "
    "end "
    "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) "
    "return string.format('%.0f', latest)";

char const gci_script_keep[] =
    WELL
    "if well('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
    "redis.call('PEXPIRE', KEYS[1], ARGV[2]) "
    "return 1";

char const gci_script_release[] =
    WELL
    "if well('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
    "redis.call('DEL', KEYS[1]) "
    "return 1";
