/*
 * Taking entries out again: by hand, by age, by namespace, and to stay below the cap.
 */
#ifndef GCI_STORE_EVICT_H
#define GCI_STORE_EVICT_H

#include "store/inside.h"

/* An entry that is to go. */
typedef struct gci_victim {
    gcache_key key;
    char id[GCACHE_ENTRY_ID_SIZE];
    uint64_t bytes;
    uint32_t hits;
    uint64_t used_ns; /* 0: not known */
} gci_victim;

/*
 * Takes victims out, key by key, and their rows. Those that are gone already are no error. *out_evicted entries and
 * *out_bytes were freed. Not while holding a key's lock.
 */
gcache_status gci_evict(gci_store *store, gci_victim const *victims, size_t count, int cause, uint64_t *out_evicted,
                        uint64_t *out_bytes, gcache_error *error);

/*
 * Makes room for `need` more bytes before an insert. Below the high watermark: nothing to do. Between it and the cap:
 * evicts a slice if nobody else does. Above: evicts, or waits for who does, until the bytes fit; ERROR_NO_SPACE if they
 * don't. Not while holding a key's lock.
 */
gcache_status gci_make_room(gci_store *store, uint64_t need, gcache_error *error);

/* Reserves bytes for an insert, by the holder of its key's lock. false: they don't fit under the cap (any more). */
bool gci_reserve(gci_store *store, uint64_t need);
void gci_unreserve(gci_store *store, uint64_t need);

/*
 * Makes room for one more candidate of a key that has `count`, which are as many as it may: the longest unused go, some at a
 * time. ERROR_LIMIT: it isn't known which. Not while holding a key's lock.
 */
gcache_status gci_make_seats(gci_store *store, gcache_key const *key, size_t count, gcache_error *error);

/* Evicts a slice because the file system is full. */
gcache_status gci_evict_for_space(gci_store *store, uint64_t need, gcache_error *error);

/* One evictor, collector or repairer at a time. Closing the file gives the lock back. */
gcache_status gci_evictor_lock(gci_store *store, uint64_t wait_ns, gci_file *out_lock, gcache_error *error);

/* Sets bytes, entries and keys to what index.db adds up to, if no insert is under way. */
void gci_recount(gci_store *store);

#endif
