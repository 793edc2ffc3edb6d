/* A hash table of objects with counted bytes. */
#include "tier/memory/objects.h"

#include "base/check.h"
#include "base/digest.h"

#include <stdlib.h>
#include <string.h>

static bool const is_keyed[GCACHE_OBJECT_KIND_COUNT] = {
#define X(id, word, keyed, named, meaning) [GCACHE_OBJECT_##id] = keyed,
    GCACHE_OBJECT_MAP(X)
#undef X
};

gci_memory_blob *
gci_memory_blob_new(void const *bytes, size_t size)
{
    gci_memory_blob *blob = malloc(sizeof *blob + size);

    if (blob == NULL)
        return NULL;
    atomic_init(&blob->references, 1);
    blob->size = size;
    if (bytes != NULL && size > 0)
        memcpy(blob->bytes, bytes, size);
    return blob;
}

gci_memory_blob *
gci_memory_blob_keep(gci_memory_blob *blob)
{
    atomic_fetch_add(&blob->references, 1);
    return blob;
}

void
gci_memory_blob_leave(gci_memory_blob *blob)
{
    if (blob != NULL && atomic_fetch_sub(&blob->references, 1) == 1)
        free(blob);
}

size_t
gci_memory_bucket_of(gcache_object const *like)
{
    uint64_t hash = is_keyed[like->kind] ? gci_hash64(like->key.bytes, sizeof like->key.bytes, 0)
                                         : gci_hash64(like->name, strlen(like->name), 1 + (uint64_t)like->kind);

    return hash % GCI_MEMORY_BUCKETS;
}

static bool
is_the_one(gci_memory_object const *object, gcache_object const *like)
{
    return object->kind == like->kind && strcmp(object->name, like->name) == 0 &&
           (!is_keyed[like->kind] || memcmp(&object->key, &like->key, sizeof like->key) == 0);
}

/* The link that leads to it, or the one at the end of its bucket. */
static gci_memory_object **
link_of(gci_memory_objects *objects, gcache_object const *like)
{
    gci_memory_object **link = &objects->buckets[gci_memory_bucket_of(like)];

    while (*link != NULL && !is_the_one(*link, like))
        link = &(*link)->next;
    return link;
}

static void
drop(gci_memory_objects *objects, gci_memory_object **link)
{
    gci_memory_object *object = *link;

    GCI_ASSERT(objects->count > 0 && objects->bytes >= object->blob->size);
    *link = object->next;
    objects->count--;
    objects->bytes -= object->blob->size;
    gci_memory_blob_leave(object->blob);
    free(object);
}

gci_memory_object *
gci_memory_objects_find(gci_memory_objects *objects, gcache_object const *like, uint64_t now)
{
    gci_memory_object *object = *link_of(objects, like);

    return object != NULL && object->expires_ns > now ? object : NULL;
}

/* An empty one in its place; NULL: no memory. */
static gci_memory_object *
make(gci_memory_objects *objects, gcache_object const *like)
{
    gci_memory_object *object = calloc(1, sizeof *object);

    if (object == NULL)
        return NULL;
    object->kind = like->kind;
    if (is_keyed[like->kind])
        object->key = like->key;
    memcpy(object->name, like->name, sizeof object->name);
    *link_of(objects, like) = object;
    objects->count++;
    return object;
}

bool
gci_memory_objects_put(gci_memory_objects *objects, gcache_object const *object, uint64_t expires_ns)
{
    gci_memory_blob *blob = gci_memory_blob_new(object->bytes, object->size);
    gci_memory_object *place = *link_of(objects, object);

    if (blob != NULL && place == NULL)
        place = make(objects, object);
    if (blob == NULL || place == NULL) {
        gci_memory_blob_leave(blob);
        return false;
    }
    if (place->blob != NULL)
        objects->bytes -= place->blob->size;
    gci_memory_blob_leave(place->blob);
    objects->bytes += blob->size;
    place->blob = blob;
    place->expires_ns = expires_ns;
    return true;
}

void
gci_memory_objects_remove(gci_memory_objects *objects, gcache_object const *like)
{
    gci_memory_object **link = link_of(objects, like);

    if (*link != NULL)
        drop(objects, link);
}

void
gci_memory_objects_expire(gci_memory_objects *objects, uint64_t now)
{
    for (size_t i = 0; i < GCI_MEMORY_BUCKETS; i++) {
        for (gci_memory_object **link = &objects->buckets[i]; *link != NULL;) {
            if ((*link)->expires_ns <= now)
                drop(objects, link);
            else
                link = &(*link)->next;
        }
    }
}

void
gci_memory_objects_clear(gci_memory_objects *objects)
{
    for (size_t i = 0; i < GCI_MEMORY_BUCKETS; i++) {
        while (objects->buckets[i] != NULL)
            drop(objects, &objects->buckets[i]);
    }
}

gci_memory_object *
gci_memory_objects_another(gci_memory_objects *objects, gci_memory_object const *than)
{
    for (size_t i = 0; i < GCI_MEMORY_BUCKETS; i++) {
        for (gci_memory_object *object = objects->buckets[i]; object != NULL; object = object->next) {
            if (object != than && object->kind == than->kind)
                return object;
        }
    }
    return NULL;
}
