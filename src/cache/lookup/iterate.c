/*
 * Walking over everything that is stored.
 */
#include "base/check.h"
#include "cache/tiers/upload.h"
#include "cache/candidates/ranking.h"
#include "cache/candidates/shadow.h"
#include "cache/handle/cache.h"

#include <stdlib.h>

typedef struct visit {
    gcache *cache;
    gci_store *store;
    gcache_entry_fn fn;
    void *state;
    bool shadowed; /* only those that are */
    int ended; /* what fn returned to end the walk */
    bool no_memory;
} visit;

/* Records keep a zero behind every text. shadow: the entry that shadows it; NULL: none. */
static void
visit_entry(visit *v, gci_ranked const *ranked, gci_ranked const *shadow, gci_arena *arena)
{
    gci_record const *record = &ranked->candidate->record;
    gcache_pair *requirements = gci_arena_array(arena, record->requirement_count, sizeof *requirements);
    gcache_entry_view view = {
        .key = record->key,
        .kind = record->kind.data,
        .guards = ranked->answer.guards,
        .guard_count = record->guard_count,
        .requires_ = requirements,
        .requires_count = record->requirement_count,
        .variant = ranked->answer.variant,
        .priority = record->priority,
        .sequence = record->sequence,
        .compile_ns = record->compile_ns,
        .created_ns = record->created_ns,
        .payload_size = record->payload_size,
        .stored_size = record->stored_size,
        .metadata = ranked->answer.metadata,
        .metadata_size = ranked->answer.metadata_size,
        .label = record->label.data,
        .shadowed_by = shadow != NULL ? shadow->candidate->record.id : NULL,
    };

    memcpy(view.id, record->id, sizeof view.id);
    v->no_memory = requirements == NULL;
    for (size_t i = 0; !v->no_memory && i < record->requirement_count; i++)
        requirements[i] = (gcache_pair){ record->requirements[i].name.data, record->requirements[i].value.data };
    if (!v->no_memory)
        v->ended = v->fn(v->state, &view);
}

static int
visit_set(visit *v, gci_candidates *set)
{
    gci_ranking const *ranking = gci_ranking_of(set);
    size_t const *shadows = NULL;
    gci_arena arena;

    gci_arena_init(&arena, SIZE_MAX / 2);
    if (ranking != NULL && v->shadowed)
        shadows = gci_shadows_find(ranking, &arena);
    v->no_memory |= ranking == NULL || (v->shadowed && shadows == NULL);
    for (size_t i = 0; !v->no_memory && v->ended == 0 && i < ranking->count; i++) {
        if (gci_store_vouch(v->store, ranking->items[i]->candidate, NULL) != GCI_FOUND)
            continue;
        if (!v->shadowed)
            visit_entry(v, ranking->items[i], NULL, &arena);
        else if (shadows[i] != GCI_NOT_SHADOWED)
            visit_entry(v, ranking->items[i], ranking->items[shadows[i]], &arena);
    }
    gci_arena_clear(&arena);
    return v->ended != 0 || v->no_memory;
}

/* Skips damaged and vanished keys: verify reports them. */
static int
visit_key(void *state, gcache_key const *key)
{
    visit *v = state;
    gci_candidates *set = NULL;
    int end = 0;

    if (gci_store_load(v->store, key, &set, NULL) == GCI_FOUND)
        end = visit_set(v, set);
    gci_candidates_release(set);
    return end;
}

static gcache_status
visit_all(visit *v, gcache_key const *key, gcache_error *error)
{
    GCI_REQUIRE(v->cache != NULL && v->fn != NULL, error, "cache or fn is NULL");
    gcache_status status = gci_look_begin(v->cache, &v->store, error);
    if (status == GCACHE_OK && v->store != NULL && key != NULL)
        visit_key(v, key);
    else if (status == GCACHE_OK && v->store != NULL)
        status = gci_store_each_key(v->store, visit_key, v, error);
    gci_look_end(v->cache, v->store);
    return v->no_memory ? gci_fail_memory(error) : status;
}

gcache_status
gcache_each_entry(gcache *cache, gcache_key const *key, gcache_entry_fn fn, void *state, gcache_error *error)
{
    return visit_all(&(visit){ .cache = cache, .fn = fn, .state = state }, key, error);
}

gcache_status
gcache_each_shadowed(gcache *cache, gcache_key const *key, gcache_entry_fn fn, void *state, gcache_error *error)
{
    return visit_all(&(visit){ .cache = cache, .fn = fn, .state = state, .shadowed = true }, key, error);
}

gcache_status
gcache_remove(gcache *cache, gcache_key const *key, char const *entry, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL && key != NULL && entry != NULL, error, "cache, key or entry is NULL");
    if (!gci_is_open(&cache->gate, GCI_BROWSE))
        return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "the cache is switched off");
    gcache_status status = gci_store_evict(cache->store, key, entry, error);
    /* Otherwise the next lookup would bring it back. */
    if (status == GCACHE_OK && cache->tiers != NULL && cache->tiers->uploads != NULL) {
        gcache_object head = { .kind = GCACHE_OBJECT_HEAD, .key = *key };
        memcpy(head.name, entry, strlen(entry) < sizeof head.name ? strlen(entry) : 0);
        gci_uploads_remove(cache->tiers->uploads, &head, gci_tiers_writable(cache->tiers));
    }
    return status;
}
