#include "base/clock.h"
#include "store/candidates.h"
#include "store/compress.h"
#include "store/describe.h"
#include "store/drain.h"
#include "store/evict.h"
#include "store/insertion.h"
#include "store/lookup.h"
#include "store/publish.h"
#include "store/record.h"

#include <stdlib.h>

static void
insertion_init(gci_insertion *insertion, gci_store *store, gci_record const *record, gci_view payload, gci_inserted *out,
               gcache_error *error)
{
    *out = (gci_inserted){ 0 };
    *insertion = (gci_insertion){ .store = store, .record = *record, .payload = payload, .out = out, .error = error };
    gci_buf_init(&insertion->compressed, GCI_BUF_NO_LIMIT);
    gci_buf_init(&insertion->head, GCI_HEAD_MAX + GCI_FRAME_OVERHEAD);
    gci_buf_init(&insertion->description, GCI_BUF_NO_LIMIT);
    if (record->space.data == NULL)
        insertion->record.space = gci_view_text(store->options.space);
    if (record->created_ns == 0)
        insertion->record.created_ns = gci_clock_wall_ns();
}

static void
insertion_clear(gci_insertion *insertion)
{
    gci_buf_clear(&insertion->compressed);
    gci_buf_clear(&insertion->head);
    gci_buf_clear(&insertion->description);
    gci_insertion_unstage(insertion);
}

static gcache_status
identify(gci_insertion *insertion)
{
    if (insertion->store->read_only)
        return gci_fail(insertion->error, GCACHE_ERROR_READ_ONLY, "%s: the cache is read-only",
                        insertion->store->directory.name);
    if (insertion->payload.size > GCI_PAYLOAD_MAX)
        return gci_fail(insertion->error, GCACHE_ERROR_LIMIT, "a payload of %zu bytes: the largest that is stored has %llu",
                        insertion->payload.size, (unsigned long long)GCI_PAYLOAD_MAX);
    insertion->record.payload_size = insertion->payload.size;
    if (!gci_record_identify(&insertion->record, insertion->payload))
        return gci_fail_memory(insertion->error);
    memcpy(insertion->out->id, insertion->record.id, GCACHE_ENTRY_ID_SIZE);
    return GCACHE_OK;
}

/* Looks without a lock: most inserts of an entry that is there end here. Also finds out whether the key lacks its
   description. */
static void
look_ahead(gci_insertion *insertion, bool *out_lacks_description)
{
    gcache_key const *key = &insertion->record.key;
    gci_candidates *set = NULL;
    struct stat facts;

    gci_found found = gci_read_current(insertion->store, key, &set, NULL);
    insertion->fresh = found != GCI_FOUND;
    gci_candidate *equal = found == GCI_FOUND ? gci_candidates_find(set, insertion->record.id) : NULL;
    if (equal != NULL) {
        insertion->out->existed = true;
        insertion->out->sequence = equal->record.sequence;
    }
    *out_lacks_description = found != GCI_FOUND ||
                             (gci_inside(set)->description.size == 0 &&
                              gci_dir_stat(insertion->store->directory, gci_path_description(key).text, &facts, NULL) ==
                                  GCACHE_ERROR_NOT_FOUND);
    gci_candidates_release(set);
}

/* Compresses, unless that gains less than an eighth: then bytes that can be used as they are are worth more. */
static gcache_status
compress_payload(gci_insertion *insertion)
{
    int level = insertion->store->options.compression_level;
    size_t size = insertion->payload.size;

    insertion->record.compression = GCI_RAW;
    if (level < 0 || size == 0)
        return GCACHE_OK;
    gcache_status status = gci_compress(insertion->payload, level, &insertion->compressed, insertion->error);
    if (status == GCACHE_OK && insertion->compressed.size < size - size / 8) {
        insertion->record.compression = GCI_ZSTD;
        insertion->payload = gci_buf_view(&insertion->compressed);
    }
    return status;
}

static gcache_status
hash_payload(gci_insertion *insertion)
{
    bool hashed = true;

    insertion->checksum = gci_checksum_of(insertion->payload.data, insertion->payload.size);
    insertion->record.stored_size = insertion->payload.size;
    if (insertion->store->options.signing_count > 0) {
        gci_digest *digest = gci_digest_new();
        hashed = digest != NULL && gci_digest_of(digest, insertion->payload, insertion->sha256);
        gci_digest_free(digest);
    }
    return hashed ? GCACHE_OK : gci_fail_memory(insertion->error);
}

static gcache_status
prepare(gci_insertion *insertion, gci_description const *description, bool lacks_description)
{
    gcache_status status = compress_payload(insertion);

    if (status == GCACHE_OK)
        status = hash_payload(insertion);
    if (status == GCACHE_OK && description != NULL && lacks_description)
        status = gci_description_write(&insertion->record.key, description, &insertion->description, insertion->error);
    /* An entry file or a frame in the candidate index, and a block that either may spill over into. */
    insertion->need = gci_disk_cost(insertion->payload.size) + gci_disk_cost(insertion->description.size) +
                      2 * (uint64_t)GCI_DISK_BLOCK;
    return status;
}

/* One attempt. *out_full: others have taken the room in the meantime. */
static gcache_status
lock_and_commit(gci_insertion *insertion, bool *out_full)
{
    gci_key_locks *locks = &insertion->store->locks;
    gcache_key const *key = &insertion->record.key;

    *out_full = false;
    gcache_status status = gci_key_lock(locks, key, GCI_KEY_LOCK_WAIT_NS, insertion->error);
    if (status != GCACHE_OK)
        return status;
    *out_full = !gci_reserve(insertion->store, insertion->need);
    if (!*out_full) {
        status = gci_insertion_commit(insertion);
        gci_unreserve(insertion->store, insertion->need);
    }
    gci_key_unlock(locks, key);
    return status;
}

/* Inserts at the cap take room from each other; each attempt lets somebody through. */
#define ATTEMPTS 100

static gcache_status
commit_within_space(gci_insertion *insertion)
{
    gci_store *store = insertion->store;
    bool full = true, evicted = false;

    for (int attempt = 0; full && attempt < ATTEMPTS; attempt++) {
        gcache_status status = gci_make_room(store, insertion->need, insertion->error);
        if (status != GCACHE_OK)
            return status;
        insertion->crowd = 0;
        status = lock_and_commit(insertion, &full);
        if (insertion->crowd != 0) {
            status = gci_make_seats(store, &insertion->record.key, insertion->crowd, insertion->error);
            full = status == GCACHE_OK;
        }
        /* A file system that is full may have room again after an eviction. */
        if (status == GCACHE_ERROR_NO_SPACE && !evicted) {
            evicted = true;
            full = gci_evict_for_space(store, insertion->need, NULL) == GCACHE_OK;
        }
        if (status != GCACHE_OK && !full)
            return status;
    }
    return full ? gci_fail(insertion->error, GCACHE_ERROR_NO_SPACE, "%s: full, and others take what is freed",
                           store->directory.name)
                : GCACHE_OK;
}

static void
count_outcome(gci_store *store, gci_inserted const *inserted, gcache_status status)
{
    if (status == GCACHE_ERROR_NO_SPACE || status == GCACHE_ERROR_LIMIT)
        gci_store_count(store, GCI_COUNT_REFUSALS, 1);
    else if (status == GCACHE_OK)
        gci_store_count(store, inserted->existed ? GCI_COUNT_DUPLICATES : GCI_COUNT_INSERTS, 1);
}

/* ---- in two steps ---- */

struct gci_pending {
    gci_insertion insertion;
    gci_inserted inserted;
    gcache_error error;
    gcache_status status;
};

/* Everything that needs no lock. */
static gcache_status
begin(gci_pending *pending, gci_store *store, gci_record const *record, gci_view payload,
      gci_description const *description)
{
    gci_insertion *insertion = &pending->insertion;
    bool lacks_description = false;

    gci_store_enter(store);
    insertion_init(insertion, store, record, payload, &pending->inserted, &pending->error);
    insertion->described = description;
    gcache_status status = identify(insertion);
    if (status != GCACHE_OK)
        return status;
    look_ahead(insertion, &lacks_description);
    return pending->inserted.existed ? GCACHE_OK : prepare(insertion, description, lacks_description);
}

static void
finish(gci_pending *pending)
{
    gci_store *store = pending->insertion.store;

    if (pending->status == GCACHE_OK && !pending->inserted.existed)
        pending->status = commit_within_space(&pending->insertion);
    count_outcome(store, &pending->inserted, pending->status);
}

gcache_status
gci_store_insert(gci_store *store, gci_record const *record, gci_view payload, gci_description const *description,
                 gci_inserted *out_inserted, gcache_error *error)
{
    gci_pending pending = { 0 };

    pending.status = begin(&pending, store, record, payload, description);
    finish(&pending);
    insertion_clear(&pending.insertion);
    if (pending.status == GCACHE_OK)
        gci_drain_if_due(store);
    return gci_pending_outcome(&pending, out_inserted, error);
}

gcache_status
gci_store_prepare(gci_store *store, gci_record const *record, gci_view payload, gci_description const *description,
                  gci_pending **out_pending, gcache_error *error)
{
    gci_pending *pending = calloc(1, sizeof *pending);

    *out_pending = NULL;
    if (pending == NULL)
        return gci_fail_memory(error);
    gcache_status status = begin(pending, store, record, payload, description);
    if (status == GCACHE_OK) {
        *out_pending = pending;
        return GCACHE_OK;
    }
    if (error != NULL)
        *error = pending->error;
    count_outcome(store, &pending->inserted, status);
    gci_pending_free(pending);
    return status;
}

void
gci_store_commit(gci_store *store, gci_pending *const *pending, size_t count)
{
    bool stage = count > 1 && gci_store_waits_for_disk(store);

    gci_store_enter(store);
    for (size_t i = 0; stage && i < count; i++)
        gci_insertion_stage(&pending[i]->insertion);
    for (size_t i = 0; stage && i < count; i++)
        gci_insertion_sync_staged(&pending[i]->insertion);
    for (size_t i = 0; i < count; i++)
        finish(pending[i]);
    gci_drain_if_due(store);
}

gcache_status
gci_pending_outcome(gci_pending const *pending, gci_inserted *out_inserted, gcache_error *error)
{
    *out_inserted = pending->inserted;
    if (pending->status != GCACHE_OK && error != NULL)
        *error = pending->error;
    return pending->status;
}

void
gci_pending_free(gci_pending *pending)
{
    if (pending == NULL)
        return;
    insertion_clear(&pending->insertion);
    free(pending);
}

bool
gci_store_waits_for_disk(gci_store const *store)
{
    return gci_must_sync(store, GCI_WEIGHT_COMMIT);
}
