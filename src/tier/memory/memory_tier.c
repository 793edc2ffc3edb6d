/*
 * A tier in this process, with trouble on demand: for tests of whoever relies on tiers, and the shortest tier to read.
 *
 * Locking: one mutex for all tiers in memory, held while objects and leases are looked at or changed, never while a callback
 * runs or a delay is waited for. It is taken around a fork, so that a child's copy is whole.
 */
#include "base/array.h"
#include "base/check.h"
#include "base/system/clock.h"
#include "tier/memory/leases.h"
#include "tier/memory/objects.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct memory_tier {
    gci_memory_objects objects;
    gci_memory_leases leases;
    gcache_tier_faults faults;
} memory_tier;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void
lock(void)
{
    pthread_mutex_lock(&mutex);
}

static void
unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

/* A thread of the parent's may have had it, and isn't there in a child. */
__attribute__((constructor)) static void
watch_forks(void)
{
    pthread_atfork(lock, unlock, unlock);
}

/* ---- trouble ---- */

static gcache_tier_answer
trouble(gcache_tier_call *call, gcache_reason reason, char const *what)
{
    call->reason = reason;
    snprintf(call->message, sizeof call->message, "memory: %s", what);
    return GCACHE_TIER_TROUBLE;
}

static bool
is_late(gcache_tier_call const *call)
{
    return call->deadline_ns != 0 && gci_clock_steady_ns() >= call->deadline_ns;
}

static gcache_tier_faults
faults_of(memory_tier *tier)
{
    lock();
    gcache_tier_faults faults = tier->faults;
    unlock();
    return faults;
}

/* Until the time is over, the deadline has come, or the fault was taken away. */
static void
wait_in(memory_tier *tier, gcache_tier_call const *call, uint64_t wait_ns)
{
    gci_pauses pauses = gci_pauses_of(100000, 2000000, wait_ns);
    bool hung = wait_ns == UINT64_MAX;

    while (!is_late(call) && (!hung || faults_of(tier).hang) && gci_clock_pause(&pauses)) {
    }
}

/* What every call begins with. HIT: it may go on, under *out_faults, and has the lock. */
static gcache_tier_answer
enter(memory_tier *tier, gcache_tier_call *call, gcache_tier_faults *out_faults)
{
    gcache_tier_faults faults = faults_of(tier);

    *out_faults = faults;
    call->round_trips++;
    if (faults.refuse)
        return trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, "connection refused");
    if (faults.hang)
        wait_in(tier, call, UINT64_MAX);
    else if (faults.delay_ns != 0)
        wait_in(tier, call, faults.delay_ns);
    if (is_late(call))
        return trouble(call, GCACHE_REASON_REMOTE_TIMEOUT, "no answer in time");
    lock();
    return GCACHE_TIER_HIT;
}

static gcache_tier_answer
fail_memory(gcache_tier_call *call)
{
    return trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, "out of memory");
}

/* ---- handing out ---- */

typedef struct found {
    gcache_object object;
    gci_memory_blob *blob;
} found;

typedef struct findings {
    found *items;
    size_t count, capacity;
    bool failed; /* no memory */
} findings;

static gci_memory_blob *
damaged_copy(gci_memory_blob const *blob)
{
    gci_memory_blob *copy = gci_memory_blob_new(blob->bytes, blob->size);

    if (copy != NULL && copy->size > 0)
        copy->bytes[copy->size / 2] = (char)(copy->bytes[copy->size / 2] ^ 0x20);
    return copy;
}

/* The bytes to hand out: its own, unless they are to be wrong. */
static gci_memory_blob *
blob_of(memory_tier *tier, gci_memory_object const *object, gcache_tier_faults const *faults)
{
    gci_memory_object const *other = faults->swap ? gci_memory_objects_another(&tier->objects, object) : NULL;
    gci_memory_blob *blob = other != NULL ? other->blob : object->blob;

    return faults->damage ? damaged_copy(blob) : gci_memory_blob_keep(blob);
}

/* false: it is larger than the call wants. */
static bool
add_finding(memory_tier *tier, gcache_tier_call const *call, gcache_tier_faults const *faults,
            gci_memory_object const *object, findings *all)
{
    uint64_t most = call->max_bytes != 0 ? call->max_bytes : GCACHE_TIER_BYTES_MAX;

    if (object->blob->size > most)
        return false;
    gci_memory_blob *blob = GCI_ARRAY_HAS_ROOM(all, items) ? blob_of(tier, object, faults) : NULL;
    if (blob == NULL) {
        all->failed = true;
        return true;
    }
    found *item = &all->items[all->count++];
    *item = (found){ .blob = blob, .object = { .kind = object->kind, .key = object->key, .bytes = blob->bytes,
                                               .size = blob->size } };
    memcpy(item->object.name, object->name, sizeof item->object.name);
    return true;
}

/* Without the lock: callbacks may call the tier. answer is what to say if there was memory. */
static gcache_tier_answer
hand_out(gcache_tier_call *call, findings *all, gcache_tier_answer answer, gcache_object_fn each, void *state)
{
    bool goes_on = !all->failed;

    for (size_t i = 0; i < all->count; i++) {
        found *item = &all->items[i];
        if (goes_on) {
            call->bytes_received += item->object.size;
            goes_on = each(state, &item->object) == 0;
        }
        gci_memory_blob_leave(item->blob);
    }
    free(all->items);
    return all->failed ? fail_memory(call) : answer;
}

static gcache_tier_answer
memory_list(void *given, gcache_tier_call *call, gcache_key const *key, gcache_object_fn each, void *state)
{
    gcache_object like = { .kind = GCACHE_OBJECT_HEAD, .key = *key };
    memory_tier *tier = given;
    findings all = { 0 };
    gcache_tier_faults faults;

    gcache_tier_answer answer = enter(tier, call, &faults);
    if (answer != GCACHE_TIER_HIT)
        return answer;
    uint64_t now = gci_clock_steady_ns();
    for (gci_memory_object *object = tier->objects.buckets[gci_memory_bucket_of(&like)]; object != NULL; object = object->next) {
        if (object->kind == GCACHE_OBJECT_HEAD && memcmp(&object->key, key, sizeof *key) == 0 && object->expires_ns > now)
            add_finding(tier, call, &faults, object, &all);
    }
    unlock();
    return hand_out(call, &all, all.count > 0 ? GCACHE_TIER_HIT : GCACHE_TIER_MISS, each, state);
}

static gcache_tier_answer
memory_fetch(void *given, gcache_tier_call *call, gcache_object const *wanted, size_t count, gcache_object_fn each,
             void *state)
{
    memory_tier *tier = given;
    findings all = { 0 };
    gcache_tier_faults faults;
    bool complete = true;

    gcache_tier_answer answer = enter(tier, call, &faults);
    if (answer != GCACHE_TIER_HIT)
        return answer;
    uint64_t now = gci_clock_steady_ns();
    for (size_t i = 0; i < count; i++) {
        bool lost = faults.lose_payloads && wanted[i].kind == GCACHE_OBJECT_PAYLOAD;
        gci_memory_object *object = lost ? NULL : gci_memory_objects_find(&tier->objects, &wanted[i], now);
        complete &= object != NULL && add_finding(tier, call, &faults, object, &all);
    }
    unlock();
    return hand_out(call, &all, complete ? GCACHE_TIER_HIT : GCACHE_TIER_MISS, each, state);
}

/* ---- storing ---- */

static uint64_t
expiry_of(gcache_tier_call const *call)
{
    uint64_t now = gci_clock_steady_ns();

    return call->ttl_ns != 0 && call->ttl_ns < UINT64_MAX - now ? now + call->ttl_ns : UINT64_MAX;
}

static bool
is_fenced(memory_tier *tier, gcache_tier_call *call)
{
    call->fenced = gci_memory_leases_fence(&tier->leases, call->fence);
    if (call->fenced)
        snprintf(call->message, sizeof call->message, "memory: somebody else leads by now");
    return call->fenced;
}

/* Whether there is room: what has run out makes some. */
static bool
has_room(memory_tier *tier, gcache_object const *object, uint64_t capacity)
{
    gci_memory_objects *objects = &tier->objects;
    gci_memory_object *there;

    if (capacity == 0)
        return true;
    gci_memory_objects_expire(objects, gci_clock_steady_ns());
    there = gci_memory_objects_find(objects, object, 0);
    uint64_t others = objects->bytes - (there != NULL ? there->blob->size : 0);
    return others <= capacity && object->size <= capacity - others;
}

/* What is done with each object of a call, under the lock. */
typedef gcache_tier_answer (*step)(memory_tier *tier, gcache_tier_call *call, gcache_object const *object,
                                   gcache_tier_faults const *faults);

static gcache_tier_answer
store(memory_tier *tier, gcache_tier_call *call, gcache_object const *object, gcache_tier_faults const *faults)
{
    if (!has_room(tier, object, faults->capacity))
        return trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, "full");
    call->bytes_sent += object->size;
    return gci_memory_objects_put(&tier->objects, object, expiry_of(call)) ? GCACHE_TIER_HIT : fail_memory(call);
}

static gcache_tier_answer
renew(memory_tier *tier, gcache_tier_call *call, gcache_object const *object, gcache_tier_faults const *faults)
{
    gci_memory_object *there = gci_memory_objects_find(&tier->objects, object, gci_clock_steady_ns());

    (void)faults;
    if (there != NULL)
        there->expires_ns = expiry_of(call);
    return GCACHE_TIER_HIT;
}

static gcache_tier_answer
take_away(memory_tier *tier, gcache_tier_call *call, gcache_object const *object, gcache_tier_faults const *faults)
{
    (void)call;
    (void)faults;
    gci_memory_objects_remove(&tier->objects, object);
    return GCACHE_TIER_HIT;
}

static gcache_tier_answer
change(memory_tier *tier, gcache_tier_call *call, gcache_object const *objects, size_t count, step each)
{
    gcache_tier_faults faults;

    gcache_tier_answer answer = enter(tier, call, &faults);
    if (answer != GCACHE_TIER_HIT)
        return answer;
    if (each != renew && is_fenced(tier, call))
        answer = GCACHE_TIER_MISS;
    for (size_t i = 0; answer == GCACHE_TIER_HIT && i < count; i++)
        answer = each(tier, call, &objects[i], &faults);
    unlock();
    return answer;
}

static gcache_tier_answer
memory_publish(void *tier, gcache_tier_call *call, gcache_object const *objects, size_t count)
{
    return change(tier, call, objects, count, store);
}

static gcache_tier_answer
memory_touch(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count)
{
    return change(tier, call, wanted, count, renew);
}

static gcache_tier_answer
memory_remove(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count)
{
    return change(tier, call, wanted, count, take_away);
}

static gcache_tier_answer
memory_share(void *given, gcache_tier_call *call, gcache_object const *value, gcache_object_fn each, void *state)
{
    memory_tier *tier = given;
    findings all = { 0 };
    gcache_tier_faults faults;

    gcache_tier_answer answer = enter(tier, call, &faults);
    if (answer != GCACHE_TIER_HIT)
        return answer;
    gci_memory_object *object = gci_memory_objects_find(&tier->objects, value, gci_clock_steady_ns());
    if (object == NULL) {
        answer = store(tier, call, value, &faults);
        unlock();
        return answer == GCACHE_TIER_HIT ? GCACHE_TIER_MISS : answer;
    }
    bool fits = add_finding(tier, call, &faults, object, &all);
    unlock();
    if (!fits)
        return trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, "the value there is larger than wanted");
    return hand_out(call, &all, GCACHE_TIER_HIT, each, state);
}

/* ---- leases ---- */

typedef gcache_tier_answer (*lease_step)(gci_memory_leases *leases, gcache_tier_lease const *lease, uint64_t now);

static gcache_tier_answer
with_lease(memory_tier *tier, gcache_tier_call *call, gcache_tier_lease const *lease, lease_step go)
{
    gcache_tier_faults faults;

    gcache_tier_answer answer = enter(tier, call, &faults);
    if (answer != GCACHE_TIER_HIT)
        return answer;
    answer = go(&tier->leases, lease, gci_clock_steady_ns());
    unlock();
    return answer;
}

static gcache_tier_answer
memory_lease(void *given, gcache_tier_call *call, gcache_tier_lease *lease)
{
    memory_tier *tier = given;
    gcache_tier_faults faults;

    gcache_tier_answer answer = enter(tier, call, &faults);
    if (answer != GCACHE_TIER_HIT)
        return answer;
    answer = gci_memory_leases_take(&tier->leases, lease, gci_clock_steady_ns());
    unlock();
    return answer == GCACHE_TIER_TROUBLE ? fail_memory(call) : answer;
}

static gcache_tier_answer
memory_keep(void *tier, gcache_tier_call *call, gcache_tier_lease const *lease)
{
    return with_lease(tier, call, lease, gci_memory_leases_keep);
}

static gcache_tier_answer
memory_release(void *tier, gcache_tier_call *call, gcache_tier_lease const *lease)
{
    return with_lease(tier, call, lease, gci_memory_leases_release);
}

/* ---- walking ---- */

/* So many are collected before they are handed out. */
#define WALK_KEYS 64

typedef struct keys {
    gcache_key *items;
    size_t count, capacity;
    bool failed;
} keys;

static void
add_key(keys *all, gcache_key const *key)
{
    for (size_t i = all->count; i > 0; i--) {
        if (memcmp(&all->items[i - 1], key, sizeof *key) == 0)
            return;
    }
    all->failed |= !GCI_ARRAY_HAS_ROOM(all, items);
    if (!all->failed)
        all->items[all->count++] = *key;
}

/* From a bucket on; returns the next one. */
static size_t
collect_keys(memory_tier *tier, size_t bucket, keys *all)
{
    uint64_t now = gci_clock_steady_ns();

    for (; bucket < GCI_MEMORY_BUCKETS && all->count < WALK_KEYS; bucket++) {
        for (gci_memory_object *object = tier->objects.buckets[bucket]; object != NULL; object = object->next) {
            if (object->kind == GCACHE_OBJECT_HEAD && object->expires_ns > now)
                add_key(all, &object->key);
        }
    }
    return bucket;
}

/* The cursor is a bucket's number. A callback that ends the call leaves it where it was: those keys come once more. */
static gcache_tier_answer
memory_walk(void *given, gcache_tier_call *call, char cursor[GCACHE_TIER_CURSOR_SIZE], gcache_tier_key_fn each, void *state)
{
    size_t bucket = (size_t)strtoull(cursor, NULL, 10), handed = 0;
    memory_tier *tier = given;
    gcache_tier_faults faults;
    keys all = { 0 };

    gcache_tier_answer answer = enter(tier, call, &faults);
    if (answer != GCACHE_TIER_HIT)
        return answer;
    size_t next = collect_keys(tier, bucket, &all);
    unlock();
    while (!all.failed && handed < all.count && each(state, &all.items[handed]) == 0)
        handed++;
    bool ended = handed < all.count, failed = all.failed;
    free(all.items);
    if (failed)
        return fail_memory(call);
    if (!ended)
        snprintf(cursor, GCACHE_TIER_CURSOR_SIZE, "%zu", next);
    return ended || next < GCI_MEMORY_BUCKETS ? GCACHE_TIER_HIT : GCACHE_TIER_MISS;
}

static gcache_tier_answer
memory_statistics(void *given, gcache_tier_call *call, gcache_tier_number_fn each, void *state)
{
    memory_tier *tier = given;
    gcache_tier_faults faults;

    gcache_tier_answer answer = enter(tier, call, &faults);
    if (answer != GCACHE_TIER_HIT)
        return answer;
    gci_memory_objects_expire(&tier->objects, gci_clock_steady_ns());
    uint64_t objects = tier->objects.count, bytes = tier->objects.bytes, leases = tier->leases.count;
    unlock();
    each(state, "objects", objects);
    each(state, "bytes", bytes);
    each(state, "leases", leases);
    return answer;
}

/* ---- the face ---- */

static void
memory_close(void *given)
{
    memory_tier *tier = given;

    if (tier == NULL)
        return;
    gci_memory_objects_clear(&tier->objects);
    gci_memory_leases_clear(&tier->leases);
    free(tier);
}

static gcache_tier_functions const functions = {
    .size = sizeof functions,
    .version = GCACHE_TIER_VERSION,
    .list = memory_list,
    .fetch = memory_fetch,
    .publish = memory_publish,
    .touch = memory_touch,
    .remove = memory_remove,
    .share = memory_share,
    .lease = memory_lease,
    .keep = memory_keep,
    .release = memory_release,
    .walk = memory_walk,
    .statistics = memory_statistics,
    .close = memory_close,
};

gcache_status
gcache_tier_memory_new(gcache_tier_functions const **out_functions, void **out_tier, gcache_error *error)
{
    GCI_REQUIRE(out_functions != NULL && out_tier != NULL, error, "out_functions and out_tier: where to?");
    memory_tier *tier = calloc(1, sizeof *tier);

    if (tier == NULL)
        return gci_fail_memory(error);
    *out_functions = &functions;
    *out_tier = tier;
    return GCACHE_OK;
}

void
gcache_tier_memory_fail(void *given, gcache_tier_faults const *faults)
{
    memory_tier *tier = given;

    if (tier == NULL)
        return;
    lock();
    tier->faults = faults != NULL ? *faults : (gcache_tier_faults){ 0 };
    unlock();
}
