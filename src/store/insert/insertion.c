/* Inserts: what can be done without a lock, attempts to commit, and making room between them; and adoption of entries as
   they were stored elsewhere. */
#include "store/insert/insertion.h"

#include "base/system/clock.h"
#include "store/evict/recount.h"
#include "store/evict/capacity.h"
#include "store/evict/full_disk.h"
#include "store/format/compress.h"
#include "store/format/describe.h"
#include "store/index/drain.h"
#include "store/insert/attach.h"
#include "store/insert/pending.h"
#include "store/memory/candidates.h"
#include "store/publish/publish.h"
#include "store/read/load.h"
#include "store/read/portable.h"

#include <stdlib.h>

/* ERROR_READ_ONLY, ERROR_LIMIT. */
static gcache_status
insertion_init(gci_insertion *insertion, gci_store *store, gci_record const *record, gci_view payload, gci_inserted *out,
               gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    *out = (gci_inserted){ 0 };
    *insertion = (gci_insertion){ .store = store, .record = *record, .payload = payload, .out = out, .error = error };
    gci_buf_init(&insertion->compressed, GCI_BUF_NO_LIMIT);
    gci_buf_init(&insertion->head, GCI_HEAD_MAX + GCI_FRAME_OVERHEAD);
    gci_buf_init(&insertion->description, GCI_BUF_NO_LIMIT);
    if (store->read_only)
        status = gci_store_check_writable(store, error);
    else if (payload.size > GCI_PAYLOAD_MAX)
        status = gci_fail(error, GCACHE_ERROR_LIMIT, "a payload of %zu bytes: the largest that is stored has %llu",
                          payload.size, (unsigned long long)GCI_PAYLOAD_MAX);
    return status;
}

static gcache_status
reserve(gci_insertion *insertion)
{
    if (insertion->is_reserved)
        return GCACHE_OK;
    gcache_status status = gci_reserve(insertion->store, insertion->need, insertion->error);
    insertion->is_reserved = status == GCACHE_OK;
    return status;
}

static bool
reserve_if_free(gci_insertion *insertion)
{
    if (!insertion->is_reserved)
        insertion->is_reserved = gci_reserve_if_free(insertion->store, insertion->need);
    return insertion->is_reserved;
}

static void
unreserve(gci_insertion *insertion)
{
    if (insertion->is_reserved)
        gci_unreserve(insertion->store, insertion->need);
    insertion->is_reserved = false;
}

static void
insertion_clear(gci_insertion *insertion)
{
    gci_buf_clear(&insertion->compressed);
    gci_buf_clear(&insertion->head);
    gci_buf_clear(&insertion->description);
    gci_insertion_unstage(insertion);
    unreserve(insertion);
}

/* The key that signs our inserts; NULL: they aren't signed. */
static gci_signing_key const *
signer(gci_store const *store)
{
    return gci_signing_key_first(store->options.signing, store->options.signing_count);
}

/* What nobody signs would be stored for nobody where signatures are required. */
static gcache_status
check_signer(gci_insertion const *insertion)
{
    if (!insertion->store->options.require_signature || signer(insertion->store) != NULL)
        return GCACHE_OK;
    return gci_fail(insertion->error, GCACHE_ERROR_READ_ONLY, "%s: signatures are required, and none of our keys can sign: what "
                    "is stored can be read, nothing be added", insertion->store->directory.name);
}

/* What the caller leaves to the store. */
static gcache_status
fill_in_record(gci_insertion *insertion)
{
    gci_record *record = &insertion->record;

    if (record->namespace_.data == NULL)
        record->namespace_ = gci_view_text(insertion->store->options.namespace_);
    if (record->created_ns == 0)
        record->created_ns = gci_clock_wall_ns();
    record->payload_size = insertion->payload.size;
    insertion->vouched = signer(insertion->store) != NULL;
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

    gci_found found = gci_read_ahead(insertion->store, key, &set, NULL);
    insertion->fresh = found != GCI_FOUND;
    gci_candidate *equal = found == GCI_FOUND ? gci_candidates_find(set, insertion->record.id) : NULL;
    if (equal != NULL && !gci_is_replaced(insertion, equal)) {
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
sign(gci_insertion *insertion)
{
    gci_signing_key const *key = signer(insertion->store);

    if (key == NULL || gci_record_sign(&insertion->record, insertion->payload, key, &insertion->signature))
        return GCACHE_OK;
    return gci_fail_memory(insertion->error);
}

/* Only of a key that may be new: others have one. */
static void
sketch(gci_insertion *insertion, gci_description const *description)
{
    gci_sketching const *sketching = insertion->store->options.sketching;

    insertion->is_keyed = description->canonical.size == 0;
    if (sketching != NULL && sketching->make(description, insertion->sketch))
        insertion->sketch_size = sizeof insertion->sketch;
}

static gcache_status
prepare(gci_insertion *insertion, gci_description const *description, bool lacks_description)
{
    gcache_status status = GCACHE_OK;

    insertion->checksum = gci_checksum_of(insertion->payload.data, insertion->payload.size);
    insertion->record.stored_size = insertion->payload.size;
    if (description != NULL && lacks_description)
        sketch(insertion, description);
    if (description != NULL && lacks_description)
        status = gci_description_write(&insertion->record.key, description, &insertion->description, insertion->error);
    /* An entry file or a frame in the candidate index, and a block that either may spill over into. */
    insertion->need = gci_disk_cost(insertion->payload.size) + gci_disk_cost(insertion->description.size) +
                      2 * (uint64_t)GCI_DISK_BLOCK;
    return status;
}

/* One attempt, within what was reserved. */
static gcache_status
lock_and_commit(gci_insertion *insertion)
{
    gci_key_locks *locks = &insertion->store->locks;
    gcache_key const *key = &insertion->record.key;

    gcache_status status = gci_key_lock(locks, key, GCI_KEY_LOCK_WAIT_NS, insertion->error);
    if (status != GCACHE_OK)
        return status;
    status = gci_insertion_commit(insertion);
    gci_key_unlock(locks, key);
    return status;
}

/* A full key is filled again by others while room is made in it; each attempt lets somebody through. */
#define ATTEMPTS 100
/* A file system that is full has room after an eviction, unless others were faster. */
#define SPACE_ATTEMPTS 2

static gcache_status
commit_reserved(gci_insertion *insertion)
{
    gci_store *store = insertion->store;
    int spaces = 0;

    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        insertion->key_full = 0;
        gcache_status status = lock_and_commit(insertion);
        if (insertion->key_full != 0)
            status = gci_make_room_under_key(store, &insertion->record.key, insertion->key_full, insertion->error);
        else if (status == GCACHE_ERROR_NO_SPACE && spaces++ < SPACE_ATTEMPTS)
            status = gci_evict_for_space(store, insertion->need, insertion->error);
        else
            return status;
        if (status != GCACHE_OK)
            return status;
    }
    return gci_fail(insertion->error, GCACHE_ERROR_LIMIT, "%s: the key is full, and others take what is freed",
                    store->directory.name);
}

static gcache_status
commit_within_space(gci_insertion *insertion)
{
    gcache_status status = reserve(insertion);

    if (status != GCACHE_OK)
        return status;
    status = commit_reserved(insertion);
    unreserve(insertion);
    return status;
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
    gci_check_time(store);
    gcache_status status = insertion_init(insertion, store, record, payload, &pending->inserted, &pending->error);
    if (status == GCACHE_OK)
        status = check_signer(insertion);
    if (status == GCACHE_OK)
        status = fill_in_record(insertion);
    if (status != GCACHE_OK)
        return status;
    look_ahead(insertion, &lacks_description);
    if (pending->inserted.existed)
        return GCACHE_OK;
    status = compress_payload(insertion);
    if (status == GCACHE_OK)
        status = sign(insertion);
    return status == GCACHE_OK ? prepare(insertion, description, lacks_description) : status;
}

static void
finish(gci_pending *pending)
{
    gci_store *store = pending->insertion.store;

    if (pending->status == GCACHE_OK && !pending->inserted.existed)
        pending->status = commit_within_space(&pending->insertion);
    if (pending->status == GCACHE_OK)
        pending->status = gci_store_check_place(store, &pending->error);
    count_outcome(store, &pending->inserted, pending->status);
}

static gcache_status
finish_alone(gci_pending *pending, gci_inserted *out_inserted, gcache_error *error)
{
    finish(pending);
    insertion_clear(&pending->insertion);
    if (pending->status == GCACHE_OK)
        gci_drain_if_due(pending->insertion.store);
    return gci_pending_outcome(pending, out_inserted, error);
}

gcache_status
gci_store_insert(gci_store *store, gci_record const *record, gci_view payload, gci_description const *description,
                 gci_inserted *out_inserted, gcache_error *error)
{
    gci_pending pending = { 0 };

    pending.status = begin(&pending, store, record, payload, description);
    return finish_alone(&pending, out_inserted, error);
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
    if (stage)
        gci_recount_if_unknown(store);
    /* What is staged lies on the disk, reserved: what doesn't fit beside the rest has to wait for its turn. */
    for (size_t i = 0; stage && i < count && reserve_if_free(&pending[i]->insertion); i++)
        gci_insertion_stage(&pending[i]->insertion);
    for (size_t i = 0; stage && i < count; i++)
        gci_insertion_sync_staged(&pending[i]->insertion);
    for (size_t i = 0; i < count; i++)
        finish(pending[i]);
    for (size_t i = 0; stage && i < count; i++) {
        if (pending[i]->status == GCACHE_OK)
            pending[i]->status = gci_insertion_sync_pool(&pending[i]->insertion);
    }
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

/* ---- as it was stored elsewhere ---- */

static bool
is_key_of_ours(gci_store const *store, gci_view id)
{
    for (size_t i = 0; i < store->options.signing_count; i++) {
        if (gci_view_is(id, store->options.signing[i].id))
            return true;
    }
    return false;
}

/* Whether a key of ours signed what is about to be written. */
static bool
verify_signature(gci_insertion const *insertion)
{
    gci_store_options const *options = &insertion->store->options;
    gci_signature signature = insertion->signature;
    gci_buf head;

    gci_buf_init(&head, GCI_HEAD_MAX);
    gci_record_write(&head, &insertion->record, &signature);
    gci_signature_set_covered(&signature, head.size);
    bool verified = !head.failed && gci_signature_verify(gci_buf_view(&head), &signature, options->signing,
                                                         options->signing_count);
    gci_buf_clear(&head);
    return verified;
}

static gcache_status
check_signature(gci_insertion *insertion)
{
    gci_signature const *signature = &insertion->signature;
    char const *id = insertion->record.id;
    bool is_signed = signature->key_id.size != 0, known = is_key_of_ours(insertion->store, signature->key_id);

    if (is_signed && !gci_signature_covers(signature, insertion->payload))
        return gci_fail(insertion->error, GCACHE_ERROR_CORRUPT, "entry %s: its signature is of another payload", id);
    insertion->vouched = known && verify_signature(insertion);
    if (known && !insertion->vouched)
        return gci_fail(insertion->error, GCACHE_ERROR_UNTRUSTED, "entry %s: not what our key of that name signed", id);
    if (insertion->vouched || !insertion->store->options.require_signature)
        return GCACHE_OK;
    return gci_fail(insertion->error, GCACHE_ERROR_UNTRUSTED, "entry %s: %s", id,
                    is_signed ? "signed with a key that isn't one of ours" : "not signed");
}

static gcache_status
begin_adoption(gci_pending *pending, gci_store *store, gci_portable const *entry, gci_description const *description)
{
    gci_insertion *insertion = &pending->insertion;
    bool lacks_description = false;

    gci_store_enter(store);
    gcache_status status = insertion_init(insertion, store, &entry->record, entry->payload, &pending->inserted,
                                          &pending->error);
    insertion->signature = entry->signature;
    insertion->record.sequence = 0;
    memcpy(insertion->out->id, insertion->record.id, GCACHE_ENTRY_ID_SIZE);
    if (status == GCACHE_OK)
        status = gci_attachments_check(store, &entry->record, insertion->error);
    if (status == GCACHE_OK)
        status = check_signature(insertion);
    if (status != GCACHE_OK)
        return status;
    look_ahead(insertion, &lacks_description);
    return pending->inserted.existed ? GCACHE_OK : prepare(insertion, description, lacks_description);
}

gcache_status
gci_store_adopt(gci_store *store, gci_portable const *entry, gci_description const *description,
                gci_inserted *out_inserted, gcache_error *error)
{
    gci_pending pending = { 0 };

    pending.status = begin_adoption(&pending, store, entry, description);
    return finish_alone(&pending, out_inserted, error);
}

bool
gci_store_waits_for_disk(gci_store const *store)
{
    return gci_must_sync(store, GCI_WEIGHT_COMMIT);
}
