/* What the suite's cases have in common: new objects, what was handed out, calls whose outcome is looked at. */
#include "conformance.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* ---- objects ---- */

uint64_t
conform_steady_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * CONFORM_SECOND_NS + (uint64_t)now.tv_nsec;
}

static void
fill(void *out, size_t size)
{
    if (getrandom(out, size, 0) != (ssize_t)size)
        abort();
}

gcache_key
conform_key(void)
{
    gcache_key key;

    fill(key.bytes, sizeof key.bytes);
    return key;
}

void
conform_name(char out_name[GCACHE_OBJECT_NAME_SIZE], int digits)
{
    uint8_t bytes[32];

    fill(bytes, sizeof bytes);
    for (int i = 0; i < digits; i++)
        out_name[i] = "0123456789abcdef"[bytes[i / 2] >> (i % 2 * 4) & 15];
    out_name[digits] = '\0';
}

static bool
lies_under_a_key(gcache_object_kind kind)
{
    return kind == GCACHE_OBJECT_HEAD || kind == GCACHE_OBJECT_PAYLOAD || kind == GCACHE_OBJECT_DESCRIPTION;
}

gcache_object
conform_object(gcache_object_kind kind, gcache_key const *key, void const *bytes, size_t size)
{
    gcache_object object = { .kind = kind, .bytes = bytes, .size = size };

    if (lies_under_a_key(kind))
        object.key = *key;
    if (kind != GCACHE_OBJECT_DESCRIPTION)
        conform_name(object.name, kind == GCACHE_OBJECT_HEAD ? 32 : 64);
    return object;
}

gcache_object
conform_text(gcache_object_kind kind, gcache_key const *key, char const *text)
{
    return conform_object(kind, key, text, strlen(text));
}

void
conform_clear(conform_found *found)
{
    for (size_t i = 0; i < found->count; i++)
        free((void *)(uintptr_t)found->items[i].bytes);
    free(found->items);
    *found = (conform_found){ .most = found->most };
}

int
conform_collect(void *state, gcache_object const *object)
{
    conform_found *found = state;
    char *bytes = malloc(object->size + 1);

    found->items = realloc(found->items, (found->count + 1) * sizeof *found->items);
    if (bytes == NULL || found->items == NULL)
        abort();
    if (object->size > 0)
        memcpy(bytes, object->bytes, object->size);
    found->items[found->count] = *object;
    found->items[found->count++].bytes = bytes;
    return found->most != 0 && found->count >= found->most;
}

gcache_object const *
conform_find(conform_found const *found, gcache_object const *wanted)
{
    for (size_t i = 0; i < found->count; i++) {
        gcache_object const *item = &found->items[i];
        if (item->kind == wanted->kind && strcmp(item->name, wanted->name) == 0 &&
            memcmp(&item->key, &wanted->key, sizeof item->key) == 0)
            return item;
    }
    return NULL;
}

bool
conform_has(conform_found const *found, gcache_object const *wanted)
{
    gcache_object const *item = conform_find(found, wanted);

    return item != NULL && item->size == wanted->size &&
           (item->size == 0 || memcmp(item->bytes, wanted->bytes, item->size) == 0);
}

/* ---- calls ---- */

gcache_tier_call
conform_call(void)
{
    gcache_tier_call call = GCACHE_TIER_CALL_INIT;

    call.deadline_ns = conform_steady_ns() + 60 * CONFORM_SECOND_NS;
    return call;
}

/* abort, not assert: it may be another thread. */
static void
demand(bool condition, char const *what, gcache_tier_call const *call)
{
    if (condition)
        return;
    fprintf(stderr, "conformance: %s; the message is \"%s\"\n", what, call->message);
    abort();
}

gcache_tier_answer
conform_answer(conformance const *c, gcache_tier_call const *call, gcache_tier_answer answer)
{
    bool reason_fits = call->reason == GCACHE_REASON_REMOTE_TIMEOUT || call->reason == GCACHE_REASON_REMOTE_UNAVAILABLE;

    demand(answer < GCACHE_TIER_ANSWER_COUNT, "no such answer", call);
    demand(memchr(call->message, 0, sizeof call->message) != NULL, "a message without an end", call);
    demand(strchr(call->message, '\n') == NULL, "a message of several lines", call);
    demand(c->secret == NULL || strstr(call->message, c->secret) == NULL, "a secret in a message", call);
    demand(answer != GCACHE_TIER_TROUBLE || (reason_fits && call->message[0] != '\0'), "trouble without a reason", call);
    demand(!call->fenced || (answer == GCACHE_TIER_MISS && call->message[0] != '\0'), "fenced, and yet no miss", call);
    return answer;
}

gcache_tier_answer
conform_list(conformance const *c, gcache_key const *key, conform_found *found)
{
    gcache_tier_call call = conform_call();

    conform_clear(found);
    return conform_answer(c, &call, c->functions->list(c->tier, &call, key, conform_collect, found));
}

gcache_tier_answer
conform_fetch(conformance const *c, gcache_object const *wanted, size_t count, conform_found *found)
{
    gcache_tier_call call = conform_call();

    conform_clear(found);
    return conform_answer(c, &call, c->functions->fetch(c->tier, &call, wanted, count, conform_collect, found));
}

gcache_tier_answer
conform_publish(conformance const *c, gcache_object const *objects, size_t count)
{
    gcache_tier_call call = conform_call();

    return conform_answer(c, &call, c->functions->publish(c->tier, &call, objects, count));
}

gcache_tier_answer
conform_remove(conformance const *c, gcache_object const *wanted, size_t count)
{
    gcache_tier_call call = conform_call();

    return conform_answer(c, &call, c->functions->remove(c->tier, &call, wanted, count));
}

/* Whether all of them are there, with equal bytes. */
bool
conform_are_there(conformance const *c, gcache_object const *objects, size_t count)
{
    conform_found found = { 0 };

    bool good = conform_fetch(c, objects, count, &found) == GCACHE_TIER_HIT && found.count == count;
    for (size_t i = 0; i < count; i++)
        good &= conform_has(&found, &objects[i]);
    conform_clear(&found);
    return good;
}

/* How many heads of a key are listed; SIZE_MAX: trouble. */
size_t
conform_heads(conformance const *c, gcache_key const *key)
{
    conform_found found = { 0 };

    gcache_tier_answer answer = conform_list(c, key, &found);
    size_t count = answer == GCACHE_TIER_TROUBLE ? SIZE_MAX : found.count;
    conform_clear(&found);
    return count;
}

void
conform_in_threads(void *(*run)(void *), void *states, size_t size)
{
    pthread_t threads[CONFORM_THREADS];

    for (int i = 0; i < CONFORM_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, (char *)states + (size_t)i * size), 0);
    for (int i = 0; i < CONFORM_THREADS; i++)
        pthread_join(threads[i], NULL);
}
