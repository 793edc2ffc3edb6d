/*
 * Making a key's candidate index good again from what there is: its own good frames and the key's entry files.
 */
#ifndef GCI_STORE_PUBLISH_MEND_H
#define GCI_STORE_PUBLISH_MEND_H

#include "store/format/frame.h"
#include "store/state/state.h"

/* Whether a frame holds the entry that its place says it is. */
bool gci_is_entry_of(gci_frame const *frame, gcache_key const *key, char const *id);

typedef struct gci_mended {
    uint64_t quarantined; /* files and ranges put aside */
    uint64_t recovered;   /* entries no index knew */
    uint64_t lost;        /* references whose entry file isn't there */
    uint64_t entries;     /* candidates the key has now */
    bool damaged;         /* the candidate index was */
} gci_mended;

/*
 * Looks at the key under its lock and changes what is wrong, nothing if all is well. listed: the files the key has,
 * for a caller that has listed them; NULL: they are looked for if the candidate index is damaged.
 */
gcache_status gci_mend_key(gci_store *store, gcache_key const *key, gci_shard_key const *listed, gci_mended *out_mended,
                           gcache_error *error);
/* The same by the holder of the key's lock. */
gcache_status gci_mend_locked(gci_store *store, gcache_key const *key, gci_shard_key const *listed, gci_mended *out_mended,
                              gcache_error *error);

/* Takes one entry out whose file was found damaged: the file into quarantine, its frame out of the candidate index.
   ERROR_NOT_FOUND: it isn't the one that was read any more, but has been renewed since, and stays. */
gcache_status gci_mend_entry(gci_store *store, gcache_key const *key, char const *id, uint64_t sequence, char const *why,
                             gcache_error *error);

/* Ends the renewal of an entry whose file is newer than what the candidate index says of it (renewal.h): its writer has ended
   it by now, or died. ERROR_CORRUPT: there is none to end; what else can't be done isn't. */
gcache_status gci_mend_renewed(gci_store *store, gcache_key const *key, char const *id, uint64_t sequence,
                               gcache_error *error);

#endif
