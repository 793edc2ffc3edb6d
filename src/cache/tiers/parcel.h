/*
 * An entry packed for tiers: its frame, its key's description and its files, as objects (docs/formats/remote.md).
 */
#ifndef GCI_CACHE_TIERS_PARCEL_H
#define GCI_CACHE_TIERS_PARCEL_H

#include "cache/tiers/tiers.h"

typedef struct gci_parcel {
    gcache_key key;
    char id[GCACHE_ENTRY_ID_SIZE];
    gci_buf frame, description, head;
    gci_buf *attachments; /* one each, their names in `objects` */
    size_t attachment_count;
    gcache_object *objects;
    size_t count;
    uint64_t bytes;       /* of all objects */
} gci_parcel;

/* Reads an entry from the store. FOUND: clear it. ABSENT, EVICTED: it isn't stored any more; CORRUPT, UNREADABLE: with *error. */
gci_found gci_parcel_pack(gci_parcel *parcel, gci_store *store, gcache_key const *key, char const *id, gcache_error *error);
void gci_parcel_clear(gci_parcel *parcel);

/* Publishes it. HIT; MISS: it is too large for the tier, or `fence` refuses it; TROUBLE. In each case asking->call says more; the
   asking is ended. fence may be NULL. */
gcache_tier_answer gci_parcel_publish(gci_parcel *parcel, gci_tier *tier, gcache_tier_lease const *fence, gci_asking *asking);

#endif
