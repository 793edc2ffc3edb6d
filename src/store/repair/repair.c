/* Repair: what is strange, then index.db and tables.db, then key by key, then rows, then attachments. */
#include "store/repair/repair.h"

#include "store/directory/layout.h"
#include "store/directory/shard.h"
#include "store/directory/strange.h"
#include "store/directory/trust.h"
#include "store/evict/evict.h"
#include "store/evict/recount.h"
#include "store/index/tables.h"
#include "store/insert/attach.h"
#include "store/memory/candidates.h"
#include "store/pool/pool.h"
#include "store/publish/mend.h"
#include "store/publish/publish.h"
#include "store/read/load.h"
#include "store/read/payload.h"
#include "store/read/stored_description.h"
#include "store/repair/attached.h"
#include "store/repair/rows.h"

#include <stdlib.h>

#define WAIT_NS UINT64_C(10000000000)

struct repair {
    gci_store *store;
    gcache_maintenance_options const *options;
    gcache_repaired *out;
    gci_attached_list references;
    gcache_error *error;
    bool left; /* something of the shard isn't trusted, or of a newer version */
    bool rowless;    /* index.db isn't */
};

static void
report(struct repair *repair, char const *path, char const *what)
{
    if (repair->options->problem != NULL)
        repair->options->problem(repair->options->state, path, what);
}

/* ---- what has no business there ---- */

static void
put_aside(void *state, char const *path, char const *what)
{
    struct repair *repair = state;

    if (gci_quarantine_file(repair->store, path, what, NULL) != GCACHE_OK)
        return;
    report(repair, path, what);
    repair->out->quarantined++;
}

/* ---- one key ---- */

/* Unless it has been renewed since it was read. */
static gcache_status
put_entry_aside(struct repair *repair, gci_record const *record, uint64_t *inout_entries)
{
    gcache_status status = gci_mend_entry(repair->store, &record->key, record->id, record->sequence, "damaged entry",
                                          repair->error);

    if (status == GCACHE_ERROR_NOT_FOUND)
        return GCACHE_OK;
    if (status != GCACHE_OK)
        return status;
    report(repair, gci_path_entry(&record->key, record->id).text, "damaged entry: put aside");
    repair->out->quarantined++;
    *inout_entries -= *inout_entries > 0;
    return GCACHE_OK;
}

/* Reads every payload; those that are no good are put aside and leave *inout_entries. */
static gcache_status
check_payloads(struct repair *repair, gcache_key const *key, uint64_t *inout_entries)
{
    gcache_status status = GCACHE_OK;
    gci_candidates *set;

    if (gci_read_pack(repair->store, key, &set, repair->error) != GCI_FOUND)
        return GCACHE_OK;
    for (size_t i = 0; status == GCACHE_OK && i < set->count; i++) {
        gci_record const *record = &set->items[i]->record;
        if (!gci_attached_add(&repair->references, record))
            status = gci_fail_memory(repair->error);
        gcache_status state = gci_check_payload(repair->store, set->items[i], NULL);
        if (state == GCACHE_ERROR_BUSY)
            state = gci_mend_renewed(repair->store, key, record->id, record->sequence, NULL);
        if (state == GCACHE_ERROR_CORRUPT)
            status = put_entry_aside(repair, record, inout_entries);
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
    repair->out->lost += mended->lost;
}

static void
report_distrusted(void *state, char const *path, char const *why)
{
    report(state, path, why);
}

/* What isn't trusted, or is of a newer version, stays as it is, for its owner to mend, and so do the rows that speak of it. */
static gcache_status
leave(struct repair *repair, gcache_key const *key, gcache_status status)
{
    if (status == GCACHE_ERROR_FORMAT)
        report(repair, gci_path_pack(key).text, "of a newer version: left as it is");
    else if (status != GCACHE_ERROR_UNTRUSTED)
        return status;
    repair->left = true;
    return GCACHE_OK;
}

static gcache_status
repair_key(void *state, gci_shard_key const *key)
{
    struct repair *repair = state;
    gci_stored_description *description;
    gci_mended mended;

    gcache_status status = gci_trust_key(repair->store, &key->key, repair->error);
    if (status == GCACHE_OK)
        status = gci_mend_key(repair->store, &key->key, key, &mended, repair->error);
    if (status != GCACHE_OK)
        return leave(repair, &key->key, status);
    report_mended(repair, &key->key, &mended);
    status = check_payloads(repair, &key->key, &mended.entries);
    if (gci_store_description(repair->store, &key->key, &description, NULL) == GCI_CORRUPT) {
        report(repair, gci_path_description(&key->key).text, "damaged description: put aside");
        repair->out->quarantined++;
    }
    gci_stored_description_free(description);
    repair->out->keys += mended.entries > 0;
    repair->out->entries += mended.entries;
    return status;
}

/* ---- rows ---- */

static void
report_lost(void *state, gci_entry_row const *row)
{
    struct repair *repair = state;

    report(repair, gci_path_pack(&row->key).text, "an entry that index.db knew is lost");
    repair->out->lost++;
}

/* What was put aside just now has left with an event. */
static gcache_status
repair_rows(struct repair *repair, unsigned number, bool mended)
{
    gcache_status status = mended ? gci_drain(repair->store, WAIT_NS, repair->error) : GCACHE_OK;

    return status == GCACHE_OK ? gci_rows_rebuild(repair->store, number, report_lost, repair, repair->error) : status;
}

/* ---- attachments ---- */

/* It can be stored again only when it is gone. */
static void
put_incomplete_aside(void *state, gci_attached const *reference, gcache_status why)
{
    gci_path path = gci_path_entry(&reference->key, reference->id);
    gci_attachment attachment = { .size = reference->size };
    struct repair *repair = state;

    memcpy(attachment.sha256, reference->sha256, sizeof attachment.sha256);
    if ((why != GCACHE_ERROR_CORRUPT && why != GCACHE_ERROR_NOT_FOUND) ||
        !gci_discard_unless_whole(repair->store, &reference->key, reference->id, reference->sequence, &attachment, 1))
        return;
    report(repair, path.text, "an attachment is gone or damaged: entry put aside");
    repair->out->quarantined++;
    repair->out->entries -= repair->out->entries > 0;
    repair->out->keys -= repair->out->keys > 0 && gci_cost_of_path(repair->store, gci_path_pack(&reference->key).text) == 0;
}

/* ---- all ---- */

/* What its other keys lost with it their rows tell. What is damaged may also be of a newer version. */
static void
mend_pool(void *state, gcache_key const *prefix, gci_path const *place, gcache_status status)
{
    struct repair *repair = state;
    size_t damaged = 0;

    if (status == GCACHE_ERROR_CORRUPT)
        status = gci_pool_mend(repair->store, prefix, &damaged, NULL);
    if (damaged > 0)
        report(repair, place->text, "damaged pool: what was no good is put aside");
    if (status == GCACHE_ERROR_FORMAT)
        report(repair, place->text, "of a newer version: left as it is");
    repair->out->quarantined += damaged;
    repair->left |= status != GCACHE_OK;
}

static gcache_status
repair_shard(struct repair *repair, unsigned number)
{
    uint64_t before = repair->out->quarantined + repair->out->lost;

    repair->left = false;
    gci_pool_check(repair->store, number, mend_pool, repair);
    gcache_status status = gci_pool_shard_each(repair->store, number, repair_key, repair, repair->error);
    if (status != GCACHE_OK || repair->left || repair->rowless)
        return status;
    bool mended = repair->out->quarantined + repair->out->lost != before;
    return repair_rows(repair, number, mended);
}

static gcache_status
repair_all(struct repair *repair)
{
    gcache_maintenance_options const *options = repair->options;
    bool damaged = false;

    gcache_status status = gci_layout_complete(repair->store->directory, repair->error);
    if (status == GCACHE_OK)
        status = gci_strange_each(repair->store->directory, put_aside, repair, repair->error);
    gci_trust_each(repair->store->directory, report_distrusted, repair);
    if (status == GCACHE_OK)
        status = gci_index_mend(&repair->store->index, WAIT_NS, &damaged, repair->error);
    if (status == GCACHE_OK && gci_tables_mend(repair->store)) {
        report(repair, "tables.db", "damaged database: put aside");
        repair->out->quarantined++;
    }
    if (damaged)
        report(repair, "index.db", "damaged: put aside, and made anew from the entries");
    if (status == GCACHE_OK)
        status = gci_drain(repair->store, WAIT_NS, repair->error);
    repair->rowless = status == GCACHE_ERROR_UNTRUSTED;
    if (repair->rowless)
        status = GCACHE_OK;
    for (unsigned number = 0; status == GCACHE_OK && number < GCI_SHARDS; number++) {
        status = repair_shard(repair, number);
        if (options->progress != NULL)
            options->progress(options->state, number + 1, GCI_SHARDS);
    }
    if (status == GCACHE_OK)
        gci_attached_check(repair->store, &repair->references, put_incomplete_aside, repair);
    gci_attached_clear(&repair->references);
    return status == GCACHE_OK && !repair->rowless ? gci_drain(repair->store, WAIT_NS, repair->error) : status;
}

gcache_status
gci_store_repair(gci_store *store, gcache_maintenance_options const *options, gcache_repaired *out_repaired, gcache_error *error)
{
    struct repair repair = { .store = store, .options = options, .out = out_repaired, .error = error };
    gci_recounted counted;
    gci_file lock;

    gci_store_enter(store);
    *out_repaired = (gcache_repaired)GCACHE_REPAIRED_INIT;
    if (store->read_only)
        return gci_store_check_writable(store, error);
    gcache_status status = gci_evictor_lock(store, WAIT_NS, &lock, error);
    if (status != GCACHE_OK)
        return status;
    status = repair_all(&repair);
    if (status == GCACHE_OK)
        status = gci_recount(store, &counted, error);
    if (status == GCACHE_OK)
        gci_word_set(&store->shared.head->unnoted_s, 0);
    gci_file_unlock_and_close(&lock);
    return status;
}
