/*
 * Reading one entry by its id, without a lookup: for tools that look into a cache.
 */
#include "base/check.h"
#include "cache/handle/cache.h"
#include "cache/lookup/result.h"

static gci_ranked const *
find_entry(gci_ranking const *ranking, char const *id)
{
    for (size_t i = 0; i < ranking->count; i++)
        if (strcmp(ranking->items[i]->candidate->record.id, id) == 0)
            return ranking->items[i];
    return NULL;
}

static gcache_status
read_candidate(gcache *cache, gci_ranked const *ranked, gcache_result *result, gcache_error *error)
{
    gci_payload payload;

    switch (gci_store_payload(cache->store, ranked->candidate, &payload, error)) {
    case GCI_FOUND:
        return gci_result_fill(result, NULL, ranked, &payload, error);
    case GCI_CORRUPT:
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "entry %s is damaged", ranked->candidate->record.id);
    case GCI_UNREADABLE:
    case GCI_RENEWED:
        return error->status;
    case GCI_ABSENT:
    case GCI_EVICTED:
        break;
    }
    return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "entry %s is gone", ranked->candidate->record.id);
}

static gcache_status
read_once(gcache *cache, gcache_key const *key, char const *entry, gcache_result *out_result, gcache_error *trouble)
{
    gci_candidates *set = NULL;
    gcache_status status;

    gci_found found = gci_store_load(cache->store, key, &set, trouble);
    gci_ranking const *ranking = found == GCI_FOUND ? gci_ranking_of(set) : NULL;
    gci_ranked const *ranked = ranking != NULL ? find_entry(ranking, entry) : NULL;
    if (ranked != NULL)
        status = read_candidate(cache, ranked, out_result, trouble);
    else if (found == GCI_UNREADABLE)
        status = trouble->status;
    else if (found == GCI_FOUND && ranking == NULL)
        status = gci_fail_memory(trouble);
    else
        status = gci_fail(trouble, GCACHE_ERROR_NOT_FOUND, "there is no entry %s under this key", entry);
    if (status == GCACHE_HIT)
        out_result->candidates = set;
    else
        gci_candidates_release(set);
    return status;
}

gcache_status
gcache_read_entry(gcache *cache, gcache_key const *key, char const *entry, gcache_result *out_result, gcache_error *error)
{
    gcache_error trouble = { 0 };
    gcache_status status = GCACHE_ERROR_BUSY;

    GCI_REQUIRE(out_result != NULL, error, "out_result is NULL");
    GCI_REQUIRE_INIT(out_result, error);
    gci_result_init(out_result, key);
    GCI_REQUIRE(cache != NULL && key != NULL && entry != NULL, error, "cache, key or entry is NULL");
    GCI_REQUIRE(gci_is_open(&cache->gate, GCI_BROWSE), error, "the cache is disabled");
    for (int i = 0; status == GCACHE_ERROR_BUSY && i < GCI_RENEWALS_MET; i++)
        status = read_once(cache, key, entry, out_result, &trouble);
    if (status < 0 && error != NULL)
        *error = trouble;
    return status;
}
