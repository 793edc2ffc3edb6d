/*
 * The face of this room: storing entries, and the files that belong to them.
 */
#ifndef GCI_STORE_INSERT_PENDING_H
#define GCI_STORE_INSERT_PENDING_H

#include "base/buf.h"
#include "base/error.h"
#include "store/memory/candidate_set.h"
#include "store/read/portable.h"
#include "store/state/options.h"

typedef struct gci_inserted {
    char id[GCACHE_ENTRY_ID_SIZE];
    uint64_t sequence;
    bool existed;  /* an equal entry was there */
    /* An older entry with the same guards, names, requirements, variant and priority; "": none. */
    char shadows[GCACHE_ENTRY_ID_SIZE];
} gci_inserted;

/*
 * Stores a record with its payload, and the key's description unless the key has one (description may be NULL).
 * ERROR_READ_ONLY, ERROR_NO_SPACE (nothing could be evicted), ERROR_LIMIT (too many candidates under the key, or
 * something too large), ERROR_BUSY (the key's lock is held for too long), ERROR_IO, ERROR_MEMORY. On an error nothing
 * is visible.
 */
gcache_status gci_store_insert(gci_store *store, gci_record const *record, gci_view payload,
                               gci_description const *description, gci_inserted *out_inserted, gcache_error *error);

/*
 * The same in two steps, so that many inserts share the wait for the disk: each is prepared by itself (compressed, hashed),
 * then all are committed, each with an outcome of its own. The first step touches no lock; what it is given has to stay
 * as it is until the pending insert is freed. Different threads may do the steps.
 */
typedef struct gci_pending gci_pending;

/* OK; ERROR_READ_ONLY, ERROR_LIMIT, ERROR_MEMORY: *out_pending is NULL. */
gcache_status gci_store_prepare(gci_store *store, gci_record const *record, gci_view payload,
                                gci_description const *description, gci_pending **out_pending, gcache_error *error);
void gci_store_commit(gci_store *store, gci_pending *const *pending, size_t count);
/* After the commit: what gci_store_insert would have returned. */
gcache_status gci_pending_outcome(gci_pending const *pending, gci_inserted *out_inserted, gcache_error *error);
/* NULL is accepted, and so is what wasn't committed: it isn't stored then. */
void gci_pending_free(gci_pending *pending);

/*
 * Stores an entry as it is, with the signature it has or none; gci_store_insert would sign it. Otherwise as gci_store_insert.
 * ERROR_UNTRUSTED: a key of ours is named as the signer and isn't, or signatures are required and no key of ours made this one;
 * ERROR_ARGUMENT, ERROR_LIMIT: an attachment's name can't be put in place; ERROR_NOT_FOUND: an attachment isn't stored.
 */
gcache_status gci_store_adopt(gci_store *store, gci_portable const *entry, gci_description const *description,
                              gci_inserted *out_inserted, gcache_error *error);

/* Whether an insert waits for the disk, so that it is worth gathering several. */
bool gci_store_waits_for_disk(gci_store const *store);

/* ---- attachments ---- */

/* Whether all of them can be put below one directory by their names. ERROR_ARGUMENT: one leads out, two are the same, or one is
   a folder in another's; ERROR_LIMIT: one is too long; ERROR_MEMORY. */
gcache_status gci_attachments_check_names(gci_attachment const *attachments, size_t count, gcache_error *error);
/* Stores bytes once, by content; fills in *out_attachment's hash and size. They are kept as long as an entry names them.
   Its name must be set: one that would lead out of a directory is ERROR_ARGUMENT. */
gcache_status gci_store_attach(gci_store *store, gci_view bytes, gci_attachment *out_attachment, gcache_error *error);
/* Whether one is there, by its size: nothing is read. */
bool gci_store_has_attachment(gci_store *store, gci_attachment const *attachment);
/* Reads one back, verified. FOUND, ABSENT, CORRUPT (it is put aside), UNREADABLE. */
gci_found gci_store_attachment(gci_store *store, gci_attachment const *attachment, gci_buf *out_bytes,
                               gcache_error *error);
/* Puts one in place under a directory (made if its parent is there), by reflink or copy, atomically; an equal file there is
   left alone. *out_found: what became of the stored bytes. Not GCACHE_OK although they are FOUND: the fault is the directory's,
   or the name's; ERROR_IO: the message says what is in the way. */
gcache_status gci_store_place(gci_store *store, gci_attachment const *attachment, char const *directory, gci_found *out_found,
                              gcache_error *error);

/*
 * Whether an entry's attachments are there, by their sizes: nothing is read, and without attachments nothing is asked. FOUND,
 * CORRUPT: then the entry is put aside, or RENEWED.
 */
gci_found gci_store_complete(gci_store *store, gci_candidate *candidate, gcache_error *error);
/* One of them couldn't be had: reads them all again and puts the entry aside unless they are whole by now, or it
   was renewed since it was read. CORRUPT or RENEWED. */
gci_found gci_store_discard_incomplete(gci_store *store, gci_candidate *candidate);

#endif
