#include "base/clock.h"
#include "store/candidates.h"
#include "store/evict.h"
#include "store/lookup.h"
#include "store/mend.h"
#include "store/rows.h"
#include "store/shard.h"
#include "store/verify.h"

#include <stdlib.h>

#define WAIT_NS UINT64_C(10000000000)

struct repair {
    gci_store *store;
    gci_house_options const *options;
    gci_repaired *out;
    gcache_error *error;
};

static void
report(struct repair *repair, char const *path, char const *what)
{
    if (repair->options->problem != NULL)
        repair->options->problem(repair->options->state, path, what);
}

/* ---- one key ---- */

/* Reads every payload; those that are no good are put aside and leave *inout_entries. */
static gcache_status
check_payloads(struct repair *repair, gcache_key const *key, uint64_t *inout_entries)
{
    gcache_status status = GCACHE_OK;
    gci_candidates *set;

    if (gci_read_pack(repair->store, key, &set, repair->error) != GCI_FOUND)
        return GCACHE_OK;
    for (size_t i = 0; status == GCACHE_OK && i < set->count; i++) {
        gci_path path = gci_path_entry(key, set->items[i]->record.id);
        if (gci_check_payload(repair->store, set->items[i], NULL) != GCACHE_ERROR_CORRUPT)
            continue;
        report(repair, path.text, "damaged entry: put aside");
        repair->out->quarantined++;
        *inout_entries -= *inout_entries > 0;
        status = gci_mend_entry(repair->store, key, set->items[i]->record.id, "damaged entry", repair->error);
    }
    gci_candidates_release(set);
    return status;
}

static void
report_mended(struct repair *repair, gcache_key const *key, gci_mended const *mended)
{
    gci_path path = gci_path_pack(key);

    if (mended->quarantined > 0)
        report(repair, path.text, "damaged: what was no good is put aside");
    if (mended->recovered > 0)
        report(repair, path.text, "entries that no candidate index named are back");
    if (mended->lost > 0)
        report(repair, path.text, "entries whose files are gone are forgotten");
    repair->out->quarantined += mended->quarantined;
    repair->out->recovered += mended->recovered;
}

static gcache_status
repair_key(struct repair *repair, gci_shard_key const *key)
{
    gci_entry_name *ids = calloc(key->count + 1, sizeof *ids);
    gci_stored_description *description;
    gci_mended mended;
    size_t count = 0;

    if (ids == NULL)
        return gci_fail_memory(repair->error);
    for (size_t i = 0; i < key->count; i++) {
        if (key->files[i].kind == GCI_NAME_ENTRY)
            memcpy(ids[count++].id, key->files[i].id, sizeof ids->id);
    }
    gcache_status status = gci_mend_key(repair->store, &key->key, ids, count, &mended, repair->error);
    free(ids);
    if (status != GCACHE_OK)
        return status;
    report_mended(repair, &key->key, &mended);
    status = check_payloads(repair, &key->key, &mended.entries);
    gci_store_description(repair->store, &key->key, &description, NULL);
    gci_stored_description_free(description);
    repair->out->keys += mended.entries > 0;
    repair->out->entries += mended.entries;
    return status;
}

/* ---- all ---- */

static gcache_status
repair_shard(struct repair *repair, unsigned number)
{
    gci_shard_key key;
    gci_shard shard;
    size_t at = 0;

    gcache_status status = gci_shard_read(repair->store, number, &shard, repair->error);
    while (status == GCACHE_OK && gci_shard_next(&shard, &at, &key))
        status = repair_key(repair, &key);
    gci_shard_clear(&shard);
    return status == GCACHE_OK ? gci_rows_rebuild(repair->store, number, repair->error) : status;
}

gcache_status
gci_store_repair(gci_store *store, gci_house_options const *options, gci_repaired *out_repaired, gcache_error *error)
{
    struct repair repair = { .store = store, .options = options, .out = out_repaired, .error = error };
    gci_file lock;

    gci_store_enter(store);
    *out_repaired = (gci_repaired){ 0 };
    if (store->read_only)
        return gci_fail(error, GCACHE_ERROR_READ_ONLY, "%s: the cache is read-only", store->directory.name);
    gcache_status status = gci_evictor_lock(store, WAIT_NS, &lock, error);
    if (status != GCACHE_OK)
        return status;
    status = gci_drain(store, WAIT_NS, error);
    for (unsigned number = 0; status == GCACHE_OK && number < GCI_SHARDS; number++) {
        status = repair_shard(&repair, number);
        if (options->progress != NULL)
            options->progress(options->state, number + 1, GCI_SHARDS);
    }
    gci_file_close(&lock);
    if (status == GCACHE_OK)
        gci_recount(store);
    return status;
}
