/*
 * Reading the description of a key, from its candidate index or a file of its own.
 */
#ifndef GCI_STORE_READ_STORED_DESCRIPTION_H
#define GCI_STORE_READ_STORED_DESCRIPTION_H

#include "store/read/read.h"

/* Reads a description without putting anything aside. */
gci_found gci_read_description(gci_store *store, gcache_key const *key, gci_stored_description **out_description,
                               gcache_error *error);

typedef struct gci_key_sketch {
    uint8_t bytes[GCI_KEY_SKETCH_BYTES];
    bool is_keyed; /* somebody else computed the key */
    int64_t kind;  /* as gci_sketch_kind */
} gci_key_sketch;

/* The sketch of a key's stored description. false: it can't be read, or nothing can be said about it. */
bool gci_sketch_stored(gci_store *store, gcache_key const *key, gci_key_sketch *out_sketch);

#endif
