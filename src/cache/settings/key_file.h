/*
 * The keys that a setting names: read from their files (guardcache/signing.h), kept as long as somebody may sign with them.
 */
#ifndef GCI_CACHE_SETTINGS_KEY_FILE_H
#define GCI_CACHE_SETTINGS_KEY_FILE_H

#include "base/view.h"

#include <guardcache/signing.h>

/* What a handle takes (open.c), and so what is worth naming. */
#define GCI_KEYS_MAX 8

typedef struct gci_key_ring {
    gcache_signing_key keys[GCI_KEYS_MAX]; /* borrow from owned */
    gcache_signing_key *owned[GCI_KEYS_MAX];
    size_t count;
    char const *paths;                     /* what they were read from; NULL: nothing yet */
    struct gci_key_ring *former;           /* an older one, whose keys somebody may still hold */
} gci_key_ring;

/*
 * Reads the key files whose paths stand in a text, spaces between them. absolute: relative ones aren't taken. ERROR_ARGUMENT,
 * and those of gcache_signing_key_read; the message names the file.
 */
gcache_status gci_key_ring_read(gci_key_ring *ring, char const *paths, bool absolute, gcache_error *error);

/* The first path that is relative, or an empty view. */
gci_view gci_relative_path_in(char const *paths);

/* And all former ones. */
void gci_key_ring_free(gci_key_ring *ring);

#endif
