/*
 * Where an object lies below a directory that is a tier (docs/formats/remote.md).
 */
#ifndef GCI_TIER_DIRECTORY_OBJECT_PLACE_H
#define GCI_TIER_DIRECTORY_OBJECT_PLACE_H

#include <guardcache/tier.h>

/* Of one path component or several. */
#define GCI_DIRECTORY_PREFIX_MAX 200
/* PREFIX/1/keys/ab/<64 digits> and room. */
#define GCI_DIRECTORY_FOLDER_SIZE (GCI_DIRECTORY_PREFIX_MAX + 100)

typedef struct gci_object_place {
    char folder[GCI_DIRECTORY_FOLDER_SIZE]; /* seen from the directory */
    char name[GCACHE_OBJECT_NAME_SIZE];     /* in it */
} gci_object_place;

/* false: the object's name is none that the tier could have given a file. */
bool gci_object_place_of(char const *prefix, gcache_object const *object, gci_object_place *out_place);

/* A key's folder, and one that holds those of the keys that begin with a shard's two digits. */
void gci_key_folder(char const *prefix, gcache_key const *key, char out_folder[GCI_DIRECTORY_FOLDER_SIZE]);
void gci_shard_folder(char const *prefix, unsigned shard, char out_folder[GCI_DIRECTORY_FOLDER_SIZE]);
void gci_temporary_folder(char const *prefix, char out_folder[GCI_DIRECTORY_FOLDER_SIZE]);

#define GCI_KEY_SHARDS 256

/* So many lower-case hex digits and no more. */
bool gci_is_hex_name(char const *name, size_t digits);
#define GCI_HEAD_DIGITS 32

/* Whether a prefix leads to a place below the directory and is no longer than it may be. */
bool gci_prefix_is_good(char const *prefix);

#endif
