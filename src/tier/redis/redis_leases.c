/* Leases on a Redis server: who compiles, and who has done so before. */
#include "tier/redis/ask.h"
#include "tier/redis/redis_calls.h"
#include "tier/redis/redis_keys.h"
#include "tier/redis/redis_scripts.h"

/* Integers and tokens, or an error. */
#define REPLY_BYTES_MAX (UINT64_C(64) << 10)
/* How long a token is remembered at least. A holder that has hung for longer isn't fenced any more. */
#define TOKENS_MS_MIN (UINT64_C(24) * 3600 * 1000)

static void
begin_script(gci_batch *batch, char const *script, unsigned slot, size_t keys, size_t arguments)
{
    gci_batch_init(batch);
    gci_batch_begin(batch, slot, 3 + keys + arguments);
    gci_batch_add_text(batch, "EVAL");
    gci_batch_add_text(batch, script);
    gci_batch_add_number(batch, keys);
}

/* A lease without a time to live would end before it is taken. */
static uint64_t
lease_ms(gcache_tier_lease const *lease)
{
    uint64_t ms = gci_redis_ttl_ms(lease->ttl_ns);

    return ms != 0 ? ms : 1;
}

static uint64_t
tokens_ms(gcache_tier_call const *call, gcache_tier_lease const *lease)
{
    uint64_t ms = gci_redis_ttl_ms(call->ttl_ns), least = 2 * lease_ms(lease) + TOKENS_MS_MIN;

    return ms == 0 || ms > least ? ms : least;
}

/* Asks, and empties the batch. out_token NULL: the script answers whether it has been done. */
static gcache_tier_answer
answer_of(gci_redis *redis, gcache_tier_call *call, gci_batch *batch, uint64_t *out_token)
{
    gcache_tier_answer answer = GCACHE_TIER_TROUBLE;
    int64_t token = 0;

    if (gci_redis_ask_well(redis, call, batch, (gci_resp_limits){ REPLY_BYTES_MAX, REPLY_BYTES_MAX })) {
        gci_resp_value const *reply = gci_batch_reply(batch, 0);
        bool is_token = reply->type == GCI_RESP_BULK && gci_resp_integer(gci_batch_bytes(batch, 0, reply), &token);
        if (reply->type == GCI_RESP_INTEGER && reply->integer == GCI_SCRIPT_NOT)
            answer = GCACHE_TIER_MISS;
        else if (out_token == NULL ? reply->type == GCI_RESP_INTEGER : is_token && token > 0)
            answer = GCACHE_TIER_HIT;
        else
            gci_redis_tell_strange(redis, call);
    }
    if (answer == GCACHE_TIER_HIT && out_token != NULL)
        *out_token = (uint64_t)token;
    gci_batch_clear(batch);
    return answer;
}

gcache_tier_answer
gci_redis_lease(void *tier, gcache_tier_call *call, gcache_tier_lease *lease)
{
    gci_redis *redis = tier;
    gci_redis_key name = gci_redis_key_of_lease(redis->options.prefix, lease, 'l');
    gci_batch batch;

    begin_script(&batch, gci_script_lease, name.slot, 2, 3);
    gci_batch_add_text(&batch, name.text);
    gci_batch_add_text(&batch, gci_redis_key_of_lease(redis->options.prefix, lease, 'f').text);
    gci_batch_add_text(&batch, lease->holder);
    gci_batch_add_number(&batch, lease_ms(lease));
    gci_batch_add_number(&batch, tokens_ms(call, lease));
    return answer_of(redis, call, &batch, &lease->token);
}

gcache_tier_answer
gci_redis_keep(void *tier, gcache_tier_call *call, gcache_tier_lease const *lease)
{
    gci_redis *redis = tier;
    gci_redis_key name = gci_redis_key_of_lease(redis->options.prefix, lease, 'l');
    gci_batch batch;

    begin_script(&batch, gci_script_keep, name.slot, 1, 2);
    gci_batch_add_text(&batch, name.text);
    gci_batch_add_text(&batch, lease->holder);
    gci_batch_add_number(&batch, lease_ms(lease));
    return answer_of(redis, call, &batch, NULL);
}

gcache_tier_answer
gci_redis_release(void *tier, gcache_tier_call *call, gcache_tier_lease const *lease)
{
    gci_redis *redis = tier;
    gci_redis_key name = gci_redis_key_of_lease(redis->options.prefix, lease, 'l');
    gci_batch batch;

    begin_script(&batch, gci_script_release, name.slot, 1, 1);
    gci_batch_add_text(&batch, name.text);
    gci_batch_add_text(&batch, lease->holder);
    return answer_of(redis, call, &batch, NULL);
}
