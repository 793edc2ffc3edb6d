/* Reading from a Redis server: a key's heads by one HGETALL, other objects by one pipeline. */
#include "tier/redis/ask.h"
#include "tier/redis/redis_calls.h"
#include "tier/redis/redis_keys.h"
#include "tier/redis/wire/trouble.h"

#include <stdio.h>

/* Beside the bytes of what is fetched: sizes, line ends, errors. */
#define REPLIES_OVERHEAD (UINT64_C(1) << 20)

static uint64_t
keep_of(gcache_tier_call const *call)
{
    return call->max_bytes != 0 ? call->max_bytes : GCACHE_TIER_BYTES_MAX;
}

/* ---- list ---- */

/* A field of a key's hash and its value, unless it is none of ours or was left out. false: the caller wants no more. */
static bool
hand_out_head(gci_batch const *batch, gcache_tier_call const *call, gcache_key const *key, gci_resp_value const *pair,
              gcache_object_fn each, void *state, size_t *found)
{
    gcache_object head = { .kind = GCACHE_OBJECT_HEAD, .key = *key };
    gci_view name = gci_batch_bytes(batch, 0, &pair[0]), bytes = gci_batch_bytes(batch, 0, &pair[1]);

    if (pair[1].type != GCI_RESP_BULK || bytes.size > keep_of(call) || !gci_redis_is_name(name))
        return true;
    snprintf(head.name, sizeof head.name, "%.*s", (int)name.size, name.data);
    head.bytes = bytes.data;
    head.size = bytes.size;
    ++*found;
    return each(state, &head) == 0;
}

static gcache_tier_answer
hand_out_heads(gci_redis *redis, gcache_tier_call *call, gci_batch const *batch, gcache_key const *key, gcache_object_fn each,
               void *state)
{
    gci_resp_value const *all = gci_batch_reply(batch, 0);
    size_t found = 0;
    bool go_on = true;

    if (all->type == GCI_RESP_ERROR)
        return GCACHE_TIER_MISS; /* no heads are there, but something else */
    if (all->type != GCI_RESP_ARRAY || all->size % 2 != 0 ||
        gci_resp_next(batch->commands[0].reader, batch->commands[0].value) != batch->commands[0].value + 1 + all->size) {
        gci_redis_tell_strange(redis, call);
        return GCACHE_TIER_TROUBLE;
    }
    for (uint64_t i = 0; i < all->size && go_on; i += 2)
        go_on = hand_out_head(batch, call, key, all + 1 + i, each, state, &found);
    return found != 0 ? GCACHE_TIER_HIT : GCACHE_TIER_MISS;
}

/*
 * Fake heads, say, by the thousand. The server is well, so the other keys must not pay for it: this one has no heads, and the
 * connection, where the rest of them is still to come, has been closed.
 */
static gcache_tier_answer
tell_too_many(gci_redis *redis, gcache_tier_call *call)
{
    gci_redis_trouble(call, GCACHE_REASON_NONE, redis->options.shown,
                      "the heads of a key take more than %llu bytes, or are more than %zu",
                      (unsigned long long)GCACHE_TIER_LIST_BYTES_MAX, GCI_RESP_VALUES_MAX / 2);
    return GCACHE_TIER_MISS;
}

gcache_tier_answer
gci_redis_list(void *tier, gcache_tier_call *call, gcache_key const *key, gcache_object_fn each, void *state)
{
    gci_redis *redis = tier;
    gcache_object head = { .kind = GCACHE_OBJECT_HEAD, .key = *key };
    gci_redis_key name = gci_redis_key_of(redis->options.prefix, &head);
    gcache_tier_answer answer = GCACHE_TIER_TROUBLE;
    /* Of names, too, which are needed to be read whatever the heads may take. */
    uint64_t keep = keep_of(call) > GCACHE_OBJECT_NAME_SIZE ? keep_of(call) : GCACHE_OBJECT_NAME_SIZE;
    gci_batch batch;

    gci_batch_init(&batch);
    gci_batch_begin(&batch, name.slot, 2);
    gci_batch_add_text(&batch, "HGETALL");
    gci_batch_add_text(&batch, name.text);
    if (gci_redis_ask_well(redis, call, &batch, (gci_resp_limits){ keep, GCACHE_TIER_LIST_BYTES_MAX }))
        answer = hand_out_heads(redis, call, &batch, key, each, state);
    else if (gci_batch_is_too_large(&batch))
        answer = tell_too_many(redis, call);
    gci_batch_clear(&batch);
    return answer;
}

/* ---- fetch ---- */

static void
add_get(gci_batch *batch, char const *prefix, gcache_object const *wanted)
{
    gci_redis_key name = gci_redis_key_of(prefix, wanted);
    bool head = wanted->kind == GCACHE_OBJECT_HEAD;

    gci_batch_begin(batch, name.slot, head ? 3 : 2);
    gci_batch_add_text(batch, head ? "HGET" : "GET");
    gci_batch_add_text(batch, name.text);
    if (head)
        gci_batch_add_text(batch, wanted->name);
}

/* Another type under an object's name is no object. */
static bool
is_absent(gci_resp_value const *reply)
{
    return reply->type == GCI_RESP_NIL || reply->type == GCI_RESP_LEFT_OUT || reply->type == GCI_RESP_ERROR;
}

static gcache_tier_answer
hand_out_all(gci_redis *redis, gcache_tier_call *call, gci_batch const *batch, gcache_object const *wanted,
             gcache_object_fn each, void *state)
{
    gcache_tier_answer answer = GCACHE_TIER_HIT;
    bool go_on = true;

    for (size_t i = 0; i < batch->count; i++) {
        gci_resp_value const *reply = gci_batch_reply(batch, i);
        if (reply->type != GCI_RESP_BULK)
            answer = GCACHE_TIER_MISS;
        if (reply->type != GCI_RESP_BULK && !is_absent(reply)) {
            gci_redis_tell_strange(redis, call);
            return GCACHE_TIER_TROUBLE;
        }
    }
    for (size_t i = 0; i < batch->count && go_on; i++) {
        gcache_object object = wanted[i];
        gci_view bytes = gci_batch_bytes(batch, i, gci_batch_reply(batch, i));
        if (gci_batch_reply(batch, i)->type != GCI_RESP_BULK)
            continue;
        object.bytes = bytes.data;
        object.size = bytes.size;
        go_on = each(state, &object) == 0;
    }
    return answer;
}

gcache_tier_answer
gci_redis_fetch(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count, gcache_object_fn each, void *state)
{
    gci_redis *redis = tier;
    gcache_tier_answer answer = GCACHE_TIER_TROUBLE;
    gci_batch batch;

    gci_batch_init(&batch);
    for (size_t i = 0; i < count; i++)
        add_get(&batch, redis->options.prefix, &wanted[i]);
    if (gci_redis_ask_well(redis, call, &batch, (gci_resp_limits){ keep_of(call), GCACHE_TIER_BYTES_MAX + REPLIES_OVERHEAD }))
        answer = hand_out_all(redis, call, &batch, wanted, each, state);
    gci_batch_clear(&batch);
    return answer;
}
