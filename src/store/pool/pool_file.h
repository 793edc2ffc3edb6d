/*
 * A pool as it was read: its frames, and which of them count.
 */
#ifndef GCI_STORE_POOL_POOL_FILE_H
#define GCI_STORE_POOL_POOL_FILE_H

#include "store/format/frame.h"
#include "store/state/state.h"

typedef struct gci_pool_frame {
    gcache_key key;
    gci_view bytes;
    bool is_entry; /* else a description */
    bool live;
} gci_pool_frame;

typedef struct gci_pool_file {
    gci_path path;
    gcache_key prefix;
    gci_buf bytes;
    gci_pool_frame *frames;
    size_t count, capacity;
    size_t end;  /* behind the last good frame; 0: nothing to append to */
    size_t live; /* bytes of live frames */
    bool damaged, newer;
} gci_pool_file;

/*
 * Reads a key's pool of that level; one that isn't there is empty. Clear it in any case. What is damaged is left out and noted.
 * ERROR_CORRUPT: not a plain file, or too large for a pool; ERROR_UNTRUSTED, ERROR_IO, ERROR_MEMORY.
 */
gcache_status gci_pool_file_read(gci_store *store, gcache_key const *key, unsigned level, gci_pool_file *out_pool,
                                 gcache_error *error);
/* Its frames don't count any more. false: there are none. */
bool gci_pool_file_take_out(gci_pool_file *pool, gcache_key const *key);

/* Only how far it goes, if nothing at all is wrong with its length: for who wants to append. false: it must be read. */
bool gci_pool_file_measure(gci_store *store, gcache_key const *key, unsigned level, gci_pool_file *out_pool);

void gci_pool_file_clear(gci_pool_file *pool);

static inline bool
gci_pool_frame_is_of(gci_pool_frame const *frame, gcache_key const *key)
{
    return frame->live && memcmp(&frame->key, key, sizeof *key) == 0;
}

#endif
