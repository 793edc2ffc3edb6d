/*
 * Writing to a Redis server: published objects, times to live, removal, values shared once.
 *
 * What is published goes in one pipeline, which a server does in its order. A cluster's nodes keep no order among each other, so
 * there each run of heads waits until what stands before it is stored.
 */
#include "tier/redis/ask.h"
#include "tier/redis/redis_calls.h"
#include "tier/redis/redis_keys.h"
#include "tier/redis/redis_scripts.h"
#include "tier/redis/wire/trouble.h"

#include <stdio.h>

/* Statuses and integers, and errors of a line each. */
#define REPLIES_BYTES_MAX (UINT64_C(64) << 20)
/* How often a value that vanishes between being there and being read is tried again. */
#define SHARE_ATTEMPTS_MAX 16

static gci_resp_limits const short_replies = { REPLIES_BYTES_MAX, REPLIES_BYTES_MAX };

/* ---- fences ---- */

static gcache_tier_answer
tell_fenced(gci_redis *redis, gcache_tier_call *call)
{
    call->fenced = true;
    snprintf(call->message, sizeof call->message, "%s: somebody else has taken the lease since", redis->options.shown);
    return GCACHE_TIER_MISS;
}

/* Whether the call's fence is about what lies under an object's key. */
static bool
is_fenced_by(gcache_tier_lease const *fence, gcache_object const *object)
{
    return fence != NULL && object->kind != GCACHE_OBJECT_ATTACHMENT && object->kind != GCACHE_OBJECT_VALUE &&
           memcmp(&fence->key, &object->key, sizeof fence->key) == 0;
}

static void
add_token(gci_batch *batch, gcache_tier_lease const *fence)
{
    if (fence != NULL)
        gci_batch_add_number(batch, fence->token);
    else
        gci_batch_add_text(batch, "");
}

static void
add_check(gci_batch *batch, char const *prefix, gcache_tier_lease const *fence)
{
    gci_redis_key tokens = gci_redis_key_of_lease(prefix, fence, 'f');

    gci_batch_begin(batch, tokens.slot, 5);
    gci_batch_add_text(batch, "EVAL");
    gci_batch_add_text(batch, gci_script_check);
    gci_batch_add_number(batch, 1);
    gci_batch_add_text(batch, tokens.text);
    add_token(batch, fence);
}

/* What a batch of writes and scripts came to. */
static gcache_tier_answer
judge(gci_redis *redis, gcache_tier_call *call, gci_batch const *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        gci_resp_value const *reply = gci_batch_reply(batch, i);
        if (reply->type == GCI_RESP_INTEGER && reply->integer == GCI_SCRIPT_FENCED)
            return tell_fenced(redis, call);
        if (reply->type == GCI_RESP_INTEGER && reply->integer == GCI_SCRIPT_INCOMPLETE) {
            gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, redis->options.shown,
                              "it evicts what is stored at once: its memory is too small");
            return GCACHE_TIER_TROUBLE;
        }
        if (reply->type != GCI_RESP_INTEGER && reply->type != GCI_RESP_TEXT) {
            gci_redis_tell_strange(redis, call);
            return GCACHE_TIER_TROUBLE;
        }
    }
    return GCACHE_TIER_HIT;
}

/* Sends a batch of writes and empties it. */
static gcache_tier_answer
write_batch(gci_redis *redis, gcache_tier_call *call, gci_batch *batch)
{
    gcache_tier_answer answer = GCACHE_TIER_TROUBLE;

    if (gci_redis_ask_well(redis, call, batch, short_replies))
        answer = judge(redis, call, batch);
    gci_batch_clear(batch);
    return answer;
}

static gcache_tier_answer
check_fence(gci_redis *redis, gcache_tier_call *call)
{
    gci_batch batch;

    gci_batch_init(&batch);
    add_check(&batch, redis->options.prefix, call->fence);
    return write_batch(redis, call, &batch);
}

/* ---- publish ---- */

/* What is to be kept needs no look at how long it is kept now. */
static void
add_set(gci_batch *batch, char const *prefix, gcache_object const *object, uint64_t ttl_ms)
{
    gci_redis_key name = gci_redis_key_of(prefix, object);

    gci_batch_begin(batch, name.slot, ttl_ms != 0 ? 6 : 3);
    if (ttl_ms != 0) {
        gci_batch_add_text(batch, "EVAL");
        gci_batch_add_text(batch, gci_script_store);
        gci_batch_add_number(batch, 1);
    } else {
        gci_batch_add_text(batch, "SET");
    }
    gci_batch_add_text(batch, name.text);
    gci_batch_add(batch, gci_view_of(object->bytes, object->size));
    if (ttl_ms != 0)
        gci_batch_add_number(batch, ttl_ms);
}

/* Whether a head needs an object that was published before it to be there still: its payload, its description. */
static bool
belongs_to(gcache_object const *object, gcache_object const *head)
{
    return (object->kind == GCACHE_OBJECT_PAYLOAD || object->kind == GCACHE_OBJECT_DESCRIPTION) &&
           memcmp(&object->key, &head->key, sizeof head->key) == 0;
}

/* parts: what was published since the head before this one. */
static void
add_head(gci_batch *batch, char const *prefix, gcache_tier_call const *call, gcache_object const *head,
         gcache_object const *parts, size_t count)
{
    gci_redis_key name = gci_redis_key_of(prefix, head);
    gcache_tier_lease const *fence = is_fenced_by(call->fence, head) ? call->fence : NULL;
    size_t needed = 0;

    for (size_t i = 0; i < count; i++)
        needed += belongs_to(&parts[i], head);
    gci_batch_begin(batch, name.slot, 9 + needed);
    gci_batch_add_text(batch, "EVAL");
    gci_batch_add_text(batch, gci_script_store_head);
    gci_batch_add_number(batch, 2 + needed);
    gci_batch_add_text(batch, name.text);
    gci_batch_add_text(batch, fence != NULL ? gci_redis_key_of_lease(prefix, fence, 'f').text : name.text);
    for (size_t i = 0; i < count; i++) {
        if (belongs_to(&parts[i], head))
            gci_batch_add_text(batch, gci_redis_key_of(prefix, &parts[i]).text);
    }
    gci_batch_add_text(batch, head->name);
    gci_batch_add(batch, gci_view_of(head->bytes, head->size));
    gci_batch_add_number(batch, gci_redis_ttl_ms(call->ttl_ns));
    add_token(batch, fence);
}

/* Whether what stands before a head has to be stored before the head is sent. */
static bool
has_to_wait(gci_redis *redis, gcache_object const *objects, size_t at)
{
    return !atomic_load(&redis->single) && at > 0 && objects[at].kind == GCACHE_OBJECT_HEAD &&
           objects[at - 1].kind != GCACHE_OBJECT_HEAD;
}

static gcache_tier_answer
publish_all(gci_redis *redis, gcache_tier_call *call, gcache_object const *objects, size_t count)
{
    char const *prefix = redis->options.prefix;
    gcache_tier_answer answer = GCACHE_TIER_HIT;
    size_t parts = 0; /* where those of the next head begin */
    gci_batch batch;

    gci_batch_init(&batch);
    for (size_t i = 0; i < count && answer == GCACHE_TIER_HIT; i++) {
        if (has_to_wait(redis, objects, i))
            answer = write_batch(redis, call, &batch);
        if (objects[i].kind == GCACHE_OBJECT_HEAD) {
            add_head(&batch, prefix, call, &objects[i], objects + parts, i - parts);
            parts = i + 1;
        } else {
            add_set(&batch, prefix, &objects[i], gci_redis_ttl_ms(call->ttl_ns));
        }
    }
    if (answer == GCACHE_TIER_HIT)
        answer = write_batch(redis, call, &batch);
    gci_batch_clear(&batch);
    return answer;
}

gcache_tier_answer
gci_redis_publish(void *tier, gcache_tier_call *call, gcache_object const *objects, size_t count)
{
    gcache_tier_answer answer = GCACHE_TIER_HIT;
    bool checked = call->fence == NULL;

    /* A head's script checks the fence itself, at the very moment. */
    for (size_t i = 0; i < count; i++)
        checked |= objects[i].kind == GCACHE_OBJECT_HEAD && is_fenced_by(call->fence, &objects[i]);
    call->fenced = false;
    if (!checked)
        answer = check_fence(tier, call);
    return answer == GCACHE_TIER_HIT ? publish_all(tier, call, objects, count) : answer;
}

/* ---- touch ---- */

gcache_tier_answer
gci_redis_touch(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count)
{
    gci_redis *redis = tier;
    gci_batch batch;

    gci_batch_init(&batch);
    for (size_t i = 0; i < count; i++) {
        gci_redis_key name = gci_redis_key_of(redis->options.prefix, &wanted[i]);
        gci_batch_begin(&batch, name.slot, 5);
        gci_batch_add_text(&batch, "EVAL");
        gci_batch_add_text(&batch, gci_script_touch);
        gci_batch_add_number(&batch, 1);
        gci_batch_add_text(&batch, name.text);
        gci_batch_add_number(&batch, gci_redis_ttl_ms(call->ttl_ns));
    }
    return write_batch(redis, call, &batch);
}

/* ---- remove ---- */

static void
add_unlink(gci_batch *batch, gci_redis_key const *name)
{
    gci_batch_begin(batch, name->slot, 2);
    gci_batch_add_text(batch, "UNLINK");
    gci_batch_add_text(batch, name->text);
}

/* A head by the script even without a fence: HDEL takes away nothing where a stranger stored something else. */
static void
add_removal(gci_batch *batch, char const *prefix, gcache_tier_lease const *fence, gcache_object const *object)
{
    gci_redis_key name = gci_redis_key_of(prefix, object);
    bool head = object->kind == GCACHE_OBJECT_HEAD;

    if (fence == NULL && !head) {
        add_unlink(batch, &name);
        return;
    }
    gci_batch_begin(batch, name.slot, 7);
    gci_batch_add_text(batch, "EVAL");
    gci_batch_add_text(batch, gci_script_remove);
    gci_batch_add_number(batch, 2);
    gci_batch_add_text(batch, name.text);
    gci_batch_add_text(batch, fence != NULL ? gci_redis_key_of_lease(prefix, fence, 'f').text : name.text);
    add_token(batch, fence);
    gci_batch_add_text(batch, head ? object->name : "");
}

/* Those that the fence is about, or the others. */
static gcache_tier_answer
remove_some(gci_redis *redis, gcache_tier_call *call, gcache_object const *wanted, size_t count, bool fenced)
{
    gci_batch batch;

    gci_batch_init(&batch);
    for (size_t i = 0; i < count; i++) {
        if (is_fenced_by(call->fence, &wanted[i]) == fenced)
            add_removal(&batch, redis->options.prefix, fenced ? call->fence : NULL, &wanted[i]);
    }
    if (fenced && batch.count == 0)
        add_check(&batch, redis->options.prefix, call->fence);
    return write_batch(redis, call, &batch);
}

gcache_tier_answer
gci_redis_remove(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count)
{
    gcache_tier_answer answer = GCACHE_TIER_HIT;

    call->fenced = false;
    if (call->fence != NULL)
        answer = remove_some(tier, call, wanted, count, true);
    return answer == GCACHE_TIER_HIT ? remove_some(tier, call, wanted, count, false) : answer;
}

/* ---- share ---- */

static void
compose_share(gci_batch *batch, gci_redis_key const *name, gcache_object const *value, uint64_t ttl_ms)
{
    gci_batch_init(batch);
    gci_batch_begin(batch, name->slot, ttl_ms != 0 ? 6 : 4);
    gci_batch_add_text(batch, "SET");
    gci_batch_add_text(batch, name->text);
    gci_batch_add(batch, gci_view_of(value->bytes, value->size));
    gci_batch_add_text(batch, "NX");
    if (ttl_ms != 0) {
        gci_batch_add_text(batch, "PX");
        gci_batch_add_number(batch, ttl_ms);
    }
    gci_batch_begin(batch, name->slot, 2);
    gci_batch_add_text(batch, "GET");
    gci_batch_add_text(batch, name->text);
}

/* Takes away what isn't a value at all, and nothing that another teller has just put there. */
static bool
clear_place(gci_redis *redis, gcache_tier_call *call, gci_redis_key const *name)
{
    gci_batch batch;

    gci_batch_init(&batch);
    gci_batch_begin(&batch, name->slot, 4);
    gci_batch_add_text(&batch, "EVAL");
    gci_batch_add_text(&batch, gci_script_clear);
    gci_batch_add_number(&batch, 1);
    gci_batch_add_text(&batch, name->text);
    return write_batch(redis, call, &batch) == GCACHE_TIER_HIT;
}

/* false: it was there, and has gone before it could be read; or it is none. */
static bool
judge_share(gci_redis *redis, gcache_tier_call *call, gci_batch const *batch, gcache_object const *value,
            gcache_object_fn each, void *state, gcache_tier_answer *out_answer)
{
    gci_resp_value const *set = gci_batch_reply(batch, 0), *get = gci_batch_reply(batch, 1);
    gcache_object found = *value;

    *out_answer = GCACHE_TIER_TROUBLE;
    if (set->type == GCI_RESP_TEXT) {
        *out_answer = GCACHE_TIER_MISS;
    } else if (set->type == GCI_RESP_NIL && (get->type == GCI_RESP_NIL || get->type == GCI_RESP_ERROR)) {
        return false;
    } else if (set->type == GCI_RESP_NIL && get->type == GCI_RESP_LEFT_OUT) {
        gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, redis->options.shown, "the value there is larger than %llu bytes",
                          (unsigned long long)call->max_bytes);
    } else if (set->type == GCI_RESP_NIL && get->type == GCI_RESP_BULK) {
        *out_answer = GCACHE_TIER_HIT;
        found.bytes = gci_batch_bytes(batch, 1, get).data;
        found.size = gci_batch_bytes(batch, 1, get).size;
        each(state, &found);
    } else {
        gci_redis_tell_strange(redis, call);
    }
    return true;
}

gcache_tier_answer
gci_redis_share(void *tier, gcache_tier_call *call, gcache_object const *value, gcache_object_fn each, void *state)
{
    gci_redis *redis = tier;
    gci_redis_key name = gci_redis_key_of(redis->options.prefix, value);
    uint64_t keep = call->max_bytes != 0 ? call->max_bytes : GCACHE_TIER_BYTES_MAX;
    gci_resp_limits limits = { keep, GCACHE_TIER_BYTES_MAX + REPLIES_BYTES_MAX };
    gcache_tier_answer answer = GCACHE_TIER_TROUBLE;
    gci_batch batch;

    for (int i = 0; i < SHARE_ATTEMPTS_MAX; i++) {
        compose_share(&batch, &name, value, gci_redis_ttl_ms(call->ttl_ns));
        bool done = !gci_redis_ask_well(redis, call, &batch, limits) ||
                    judge_share(redis, call, &batch, value, each, state, &answer);
        gci_batch_clear(&batch);
        if (done || !clear_place(redis, call, &name))
            return answer;
    }
    gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, redis->options.shown, "the value there is evicted again and again");
    return GCACHE_TIER_TROUBLE;
}
