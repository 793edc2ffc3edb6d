/*
 * Heads and payloads from a hostile tier: looked up, explained and kept without harm, whatever they are. The checksums are put
 * right first, for somebody who can write there can do that too. The input is a head; what stands behind its frame is handed out
 * for every payload, description and file that is asked for.
 */
#include "frames.h"
#include "place.h"
#include "tier/object/head.h"

#include <guardcache/guardcache.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

/* Magic, expiry, SHA-256; then their XXH3-64. */
#define SUMMED 48
#define HEADER 56
/* Where a record has its key and its id. */
#define KEY_AT (HEADER + GCI_FRAME_PROLOGUE)
#define ID_AT (KEY_AT + GCACHE_KEY_BYTES)
#define ID_BYTES 16

/* What the tier has. */
static gcache_object head;
static gci_view rest;

static gcache_tier_answer
list(void *tier, gcache_tier_call *call, gcache_key const *key, gcache_object_fn each, void *state)
{
    (void)tier, (void)call, (void)key;
    each(state, &head);
    return GCACHE_TIER_HIT;
}

static gcache_tier_answer
fetch(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count, gcache_object_fn each, void *state)
{
    (void)tier, (void)call;
    for (size_t i = 0; i < count; i++) {
        gcache_object found = wanted[i];
        found.bytes = rest.data;
        found.size = rest.size;
        each(state, &found);
    }
    return GCACHE_TIER_HIT;
}

static gcache_tier_answer
publish(void *tier, gcache_tier_call *call, gcache_object const *objects, size_t count)
{
    (void)tier, (void)call, (void)objects, (void)count;
    return GCACHE_TIER_HIT;
}

static void
close_nothing(void *tier)
{
    (void)tier;
}

static gcache *cache;

static void
open_cache(void)
{
    static gcache_tier_functions const functions = { .size = sizeof functions, .version = GCACHE_TIER_VERSION, .list = list,
                                                     .fetch = fetch, .publish = publish, .remove = publish,
                                                     .close = close_nothing };
    static gcache_tier_user const tier = { .name = "hostile://", .functions = &functions };
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_error error;

    gcache_close(cache);
    options.durability = GCACHE_DURABILITY_NONE;
    options.user_tiers = &tier;
    options.user_tier_count = 1;
    if (gcache_open(place_path("cache"), &options, &cache, &error) != GCACHE_OK)
        abort();
}

/* The head is called as its record says. */
static void
name_head(gcache_key *out_key)
{
    char const *bytes = head.bytes;

    memcpy(out_key->bytes, bytes + KEY_AT, sizeof out_key->bytes);
    head.kind = GCACHE_OBJECT_HEAD;
    head.key = *out_key;
    gci_hex((uint8_t const *)bytes + ID_AT, ID_BYTES, head.name);
}

static void
ask(gcache_key const *key)
{
    gcache_graph *graph = gcache_graph_new_keyed("generic", key);
    gcache_hints hints = GCACHE_HINTS({ "s0", 16 }, { "s1", 1 });
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_error error;
    char *text;

    if (gcache_explain(cache, graph, &hints, NULL, GCACHE_EXPLAIN_JSON, &text, &error) >= 0)
        gcache_free(text);
    gcache_status status = gcache_lookup(cache, graph, &hints, &result, &error);
    if (status == GCACHE_HIT && result.payload_size != 0) {
        volatile char byte = ((char const *)result.payload)[result.payload_size - 1];
        (void)byte;
    }
    /* The next input is to be asked of the tier again. */
    gcache_tiers_flush(cache, 0, NULL);
    if (status == GCACHE_HIT)
        gcache_remove(cache, key, result.entry, NULL);
    gcache_result_clear(&result);
    gcache_graph_free(graph);
}

/* The payload that the head speaks of is what there is. */
static void
speak_of_rest(char *bytes, size_t frame_size)
{
    gci_checksum sum = gci_checksum_of(rest.data, rest.size);
    uint64_t size = rest.size;

    gci_sha256(rest, (uint8_t *)bytes + 16);
    memcpy(bytes + HEADER + 16, &size, sizeof size);
    memcpy(bytes + HEADER + 24, &sum.low, sizeof sum.low);
    memcpy(bytes + HEADER + 32, &sum.high, sizeof sum.high);
    frames_right(bytes, HEADER + frame_size, HEADER);
}

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    gci_frame frame;
    gcache_key key;

    if (size < ID_AT + ID_BYTES)
        return 0;
    if (place_next() || cache == NULL)
        open_cache();
    char *bytes = malloc(size + 64);
    if (bytes == NULL)
        abort();
    memcpy(bytes, data, size);
    memset(bytes + size, 0, 64);
    frames_right(bytes, size, HEADER);
    rest = gci_view_of(bytes + size, 0);
    if (gci_frame_look(gci_view_of(bytes + HEADER, size - HEADER), &frame) && frame.size < size - HEADER) {
        rest = gci_view_of(bytes + HEADER + frame.size, size - HEADER - frame.size);
        if (frame.type == GCI_FRAME_REFERENCE)
            speak_of_rest(bytes, frame.size);
    }
    uint64_t sum = gci_hash64(bytes, SUMMED, 0);
    memcpy(bytes + SUMMED, &sum, sizeof sum);
    head.bytes = bytes;
    head.size = size;
    name_head(&key);
    ask(&key);
    free(bytes);
    return 0;
}
