/*
 * Which entries refer to which attachments: gathered key by key, then each attachment is read once. For verify and repair.
 */
#ifndef GCI_STORE_REPAIR_ATTACHED_H
#define GCI_STORE_REPAIR_ATTACHED_H

#include "store/state/state.h"

typedef struct gci_attached {
    uint8_t sha256[32];
    uint64_t size;
    gcache_key key;
    char id[GCACHE_ENTRY_ID_SIZE];
    uint64_t sequence;
} gci_attached;

typedef struct gci_attached_list {
    gci_attached *items;
    size_t count, capacity;
} gci_attached_list;

/* false: no memory. */
bool gci_attached_add(gci_attached_list *references, gci_record const *record);
void gci_attached_clear(gci_attached_list *references);

/* Called for each reference to an attachment that isn't what it refers to; why is ERROR_CORRUPT, ERROR_NOT_FOUND, ERROR_IO, ... */
typedef void (*gci_attached_fn)(void *state, gci_attached const *reference, gcache_status why);

void gci_attached_check(gci_store *store, gci_attached_list *references, gci_attached_fn fn, void *state);

#endif
