/*
 * guardcache/blobs.h - content-addressed files, and directories for a compiler's own caches.
 *
 * A blob is bytes under a name that its content gives it: the same bytes always have the same name and path, and are written
 * once. What is there under a name is not written again, also where other bytes have that name (white space of a text, a name
 * that the caller gave), unless it is damaged. It is a plain file, for tools that want a path (a generated source, an object to
 * look at). Files that belong to an entry are attachments (gcache_attachment): those are evicted with it, blobs stay until
 * gcache_blobs_expire.
 *
 * Threads and processes: as in cache.h.
 */
#ifndef GUARDCACHE_BLOBS_H
#define GUARDCACHE_BLOBS_H

#include <guardcache/cache.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gcache_blob_options {
    size_t size;      /* set by GCACHE_BLOB_OPTIONS_INIT */
    char const *name; /* the name to use in place of the content's: letters, digits, "_", "-", "."; NULL: the content's */
    char const *extra; /* mixed into the name: what the content means besides; NULL: nothing */
    bool text;        /* white space around the content doesn't count for the name */
} gcache_blob_options;

#define GCACHE_BLOB_OPTIONS_INIT { .size = sizeof(gcache_blob_options) }

#define GCACHE_BLOB_NAME_SIZE 129      /* of a name, and the terminating zero */
#define GCACHE_BLOB_EXTENSION_SIZE 33  /* of an extension without its dot, and the terminating zero */
#define GCACHE_BLOB_PATH_SIZE 4608     /* the longest path to a cache, and a blob's place in it */

typedef struct gcache_blob {
    size_t size;                      /* set by GCACHE_BLOB_INIT */
    char name[GCACHE_BLOB_NAME_SIZE];
    char path[GCACHE_BLOB_PATH_SIZE]; /* absolute */
    bool existed;                     /* it was there and has not been written again: no new work */
} gcache_blob;

#define GCACHE_BLOB_INIT { .size = sizeof(gcache_blob) }

/*
 * Stores bytes under the name their content gives them, unless something whole is there: of a name that the caller gave all that
 * can be told is that it isn't empty. extension is "cpp", "so", ...; NULL or "": none. options may be NULL.
 * GCACHE_OK; GCACHE_REFUSED: nothing is cached (disabled, bypass), and there is no file; ERROR_ARGUMENT, ERROR_READ_ONLY,
 * ERROR_NO_SPACE, ERROR_IO, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_blob_put(gcache *cache, void const *bytes, size_t size, char const *extension,
                                         gcache_blob_options const *options, gcache_blob *out_blob, gcache_error *error);

/*
 * Reads a blob back by name. With the options it was put with, the bytes are verified against the name (unless the caller
 * had given that). *out_bytes is freed with gcache_free.
 * GCACHE_OK, ERROR_NOT_FOUND, ERROR_CORRUPT (it has been put aside), ERROR_ARGUMENT, ERROR_IO, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_blob_get(gcache *cache, char const *name, char const *extension,
                                         gcache_blob_options const *options, void **out_bytes, size_t *out_size,
                                         gcache_error *error);

/* Removes blobs that nobody has put for age_ns. GCACHE_OK, ERROR_READ_ONLY, ERROR_IO. out_removed may be NULL. */
GCACHE_API gcache_status gcache_blobs_expire(gcache *cache, uint64_t age_ns, uint64_t *out_removed, gcache_error *error);

/* ---- directories for a compiler's own caches ---- */

typedef enum gcache_access {
    GCACHE_ACCESS_READ,  /* this process only reads: the directory must be there */
    GCACHE_ACCESS_UPDATE /* this process is the one that writes: the directory is made */
} gcache_access;

/*
 * The directory called name below the cache, for a cache that the compiler keeps by itself (autotuning results, kernels).
 * A read-only cache gives GCACHE_ACCESS_READ even to who asks for more; *out_access says what to tell the compiler.
 * *out_path is absolute and freed with gcache_free. What is in it belongs to the compiler: it isn't verified or evicted.
 * GCACHE_OK, GCACHE_REFUSED (nothing is cached: disabled, bypass), ERROR_NOT_FOUND (there is none to read), ERROR_ARGUMENT,
 * ERROR_NO_SPACE, ERROR_IO, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_subdirectory(gcache *cache, char const *name, gcache_access wanted,
                                             gcache_access *out_access, char **out_path, gcache_error *error);

#ifdef __cplusplus
}
#endif
#endif
