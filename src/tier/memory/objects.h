/*
 * What a tier in memory holds: objects by kind, key and name.
 *
 * Whoever calls has the tier's lock. Bytes are counted references, so that they can be handed out after the lock is given back.
 */
#ifndef GCI_TIER_MEMORY_OBJECTS_H
#define GCI_TIER_MEMORY_OBJECTS_H

#include <guardcache/tier.h>
#include <stdatomic.h>

typedef struct gci_memory_blob {
    atomic_uint references;
    size_t size;
    char bytes[];
} gci_memory_blob;

/* One reference, the caller's. bytes NULL: uninitialised. NULL: no memory. */
gci_memory_blob *gci_memory_blob_new(void const *bytes, size_t size);
gci_memory_blob *gci_memory_blob_keep(gci_memory_blob *blob);
/* NULL is nothing. */
void gci_memory_blob_leave(gci_memory_blob *blob);

typedef struct gci_memory_object {
    struct gci_memory_object *next; /* in its bucket */
    gcache_object_kind kind;
    gcache_key key;
    char name[GCACHE_OBJECT_NAME_SIZE];
    gci_memory_blob *blob;
    uint64_t expires_ns; /* by the steady clock; UINT64_MAX: never */
} gci_memory_object;

/* All that lies under a key is in the bucket of that key, the rest by its name. */
#define GCI_MEMORY_BUCKETS 1024

typedef struct gci_memory_objects {
    gci_memory_object *buckets[GCI_MEMORY_BUCKETS];
    uint64_t count, bytes;
} gci_memory_objects;

void gci_memory_objects_clear(gci_memory_objects *objects);

/* Where an object would be. */
size_t gci_memory_bucket_of(gcache_object const *like);

/* NULL: there is none, or it has run out. */
gci_memory_object *gci_memory_objects_find(gci_memory_objects *objects, gcache_object const *like, uint64_t now);
/* Stores one, in the place of the one that is there. false: no memory. */
bool gci_memory_objects_put(gci_memory_objects *objects, gcache_object const *object, uint64_t expires_ns);
void gci_memory_objects_remove(gci_memory_objects *objects, gcache_object const *like);
/* Drops what has run out. */
void gci_memory_objects_expire(gci_memory_objects *objects, uint64_t now);

/* Any other object of the same kind, or NULL. */
gci_memory_object *gci_memory_objects_another(gci_memory_objects *objects, gci_memory_object const *than);

#endif
