/*
 * Whether the files that belong to an entry are there. An entry that can't be put in place is worth nothing to whoever asked
 * for that, so it is put aside, and the next lookup is an honest miss.
 *
 * Locking: whoever stores an attachment holds locks/attachments shared, and looks for an equal entry afterwards. Here the lock
 * is held exclusively over the last look and the entry's removal: either what was stored again is seen, or the entry is gone
 * before an insert could take it for whole.
 */
#include "store/evict/references.h"
#include "store/insert/attach.h"
#include "store/publish/mend.h"
#include "store/read/load.h"

#define LOCK_WAIT_NS UINT64_C(1000000000)

/* FOUND, CORRUPT: it isn't there as it was; UNREADABLE: its owner isn't trusted. */
static gci_found
look_at(gci_store *store, gci_attachment const *attachment, gcache_error *error)
{
    gci_path place = gci_path_attachment(attachment->sha256);
    char why[GCI_DISTRUST_TEXT];
    struct stat facts;

    if (gci_dir_stat(store->directory, place.text, &facts, NULL) != GCACHE_OK || !S_ISREG(facts.st_mode) ||
        (uint64_t)facts.st_size != attachment->size)
        return GCI_CORRUPT;
    if (gci_owners_trust(&store->owners, facts.st_uid, facts.st_gid, facts.st_mode, why))
        return GCI_FOUND;
    gci_fail(error, GCACHE_ERROR_UNTRUSTED, "%s/%s: %s", store->directory.name, place.text, why);
    return gci_unreadable(store);
}

bool
gci_store_has_attachment(gci_store *store, gci_attachment const *attachment)
{
    gci_store_enter(store);
    return look_at(store, attachment, NULL) == GCI_FOUND;
}

/* Reads all of them; what is damaged is put aside on the way. */
static bool
are_whole(gci_store *store, gci_attachment const *attachments, size_t count)
{
    bool whole = true;
    gci_buf bytes;

    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; whole && i < count; i++) {
        gci_found found = gci_store_attachment(store, &attachments[i], &bytes, NULL);
        whole = found == GCI_FOUND || found == GCI_UNREADABLE;
    }
    gci_buf_clear(&bytes);
    return whole;
}

/* ERROR_NOT_FOUND: it was renewed since. */
static gcache_status
discard_unless_whole(gci_store *store, gcache_key const *key, char const *id, uint64_t sequence,
                     gci_attachment const *attachments, size_t count)
{
    gcache_status status = GCACHE_ERROR_BUSY;
    gci_file lock;

    if (store->read_only || gci_attach_lock(store, GCI_LOCK_EXCLUSIVE, LOCK_WAIT_NS, &lock, NULL) != GCACHE_OK)
        return status;
    if (!are_whole(store, attachments, count))
        status = gci_mend_entry(store, key, id, sequence, "an attachment is gone or damaged", NULL);
    gci_file_unlock_and_close(&lock);
    return status;
}

bool
gci_discard_unless_whole(gci_store *store, gcache_key const *key, char const *id, uint64_t sequence,
                         gci_attachment const *attachments, size_t count)
{
    return discard_unless_whole(store, key, id, sequence, attachments, count) == GCACHE_OK;
}

gci_found
gci_store_discard_incomplete(gci_store *store, gci_candidate *candidate)
{
    gci_record const *record = &candidate->record;

    gci_store_enter(store);
    gcache_status status = discard_unless_whole(store, &record->key, record->id, record->sequence, record->attachments,
                                                record->attachment_count);
    return status == GCACHE_ERROR_NOT_FOUND ? GCI_RENEWED : GCI_CORRUPT;
}

gci_found
gci_store_complete(gci_store *store, gci_candidate *candidate, gcache_error *error)
{
    gci_record const *record = &candidate->record;

    for (size_t i = 0; i < record->attachment_count; i++) {
        gci_view name = record->attachments[i].name;
        gci_found found = look_at(store, &record->attachments[i], error);
        if (found == GCI_UNREADABLE)
            return found;
        if (found == GCI_FOUND)
            continue;
        gci_fail(error, GCACHE_ERROR_CORRUPT, "entry %s: attachment %.*s is gone or damaged", record->id, (int)name.size,
                 name.data);
        return gci_store_discard_incomplete(store, candidate);
    }
    return GCI_FOUND;
}
