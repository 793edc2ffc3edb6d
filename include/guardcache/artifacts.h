/*
 * guardcache/artifacts.h - one file of what a run used, for another machine.
 *
 * An export is one checksummed, versioned file (docs/formats/export.md): entries with their attachments, what their keys were
 * computed from, blobs, tuning results, artifacts of the caller's own kinds. It is made of what a run hit or stored
 * (gcache_artifacts_...), or of what is stored (gcache_export). Importing verifies the whole file first, then adds what isn't
 * there; nothing is overwritten that is as new. An import that was interrupted can be done again.
 *
 * Payloads are executed: import only what you trust. Entries keep the signatures they have, or have none: nothing that was
 * imported is ever signed here. With gcache_options.require_signature only entries that one of the given keys signed are taken;
 * blobs, tuning results and artifacts have no signature and are left out. Attachments come in as what their names, SHA-256, say;
 * gc sweeps those that no entry refers to.
 *
 * Threads: as in cache.h, except that gcache_artifacts_end is not called while other calls of this header are under way.
 */
#ifndef GUARDCACHE_ARTIFACTS_H
#define GUARDCACHE_ARTIFACTS_H

#include <guardcache/cache.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What went into a file or came out of it. */
typedef struct gcache_transfer {
    size_t size;        /* set by GCACHE_TRANSFER_INIT */
    uint64_t entries, keys;
    uint64_t attachments, blobs;
    uint64_t rows;      /* timings, best configurations, bundles */
    uint64_t artifacts; /* of the caller's kinds */
    uint64_t existed;   /* import: entries and blobs that were there already */
    uint64_t unmet;     /* import: entries whose requirements aren't met here */
    uint64_t left_out;  /* export: what can't be read; import: what is no good or that nobody vouches for */
    uint64_t bytes;     /* of the file */
} gcache_transfer;

#define GCACHE_TRANSFER_INIT { .size = sizeof(gcache_transfer) }

/* Called for each thing that is left out, and why; both belong to the call. */
typedef void (*gcache_left_out_fn)(void *state, gcache_error const *why);

/* ---- what a run uses ---- */

/* From now on everything that is hit or stored through this handle is noted. GCACHE_OK; ERROR_ARGUMENT: it is already. */
GCACHE_API gcache_status gcache_artifacts_begin(gcache *cache, gcache_error *error);
/* Forgets what was noted and notes no more. Without a beginning it does nothing. */
GCACHE_API void gcache_artifacts_end(gcache *cache);

/* Whether something new was stored since the beginning: hits alone are no reason to save. */
GCACHE_API bool gcache_artifacts_dirty(gcache *cache);

/* Adds an artifact of the caller's own kind, under a name; a second one of that name replaces it. Copied. GCACHE_OK;
   ERROR_ARGUMENT: also without a beginning; ERROR_MEMORY. */
GCACHE_API gcache_status gcache_artifacts_add(gcache *cache, char const *kind, char const *name, void const *bytes,
                                              size_t size, gcache_error *error);

/* Writes what was noted so far; what has been evicted meanwhile is left out. out_written may be NULL. As gcache_export;
   ERROR_ARGUMENT: also without a beginning. */
GCACHE_API gcache_status gcache_artifacts_save(gcache *cache, char const *file, gcache_transfer *out_written,
                                               gcache_error *error);

/* ---- export ---- */

typedef struct gcache_export_options {
    size_t size;           /* set by GCACHE_EXPORT_OPTIONS_INIT */
    gcache_key const *key; /* only entries under it; NULL: all */
    char const *label;     /* only entries in whose label this occurs */
    char const *namespace_; /* only entries of this namespace */
    uint64_t since_ns;     /* only entries stored at or after, since 1970 */
    uint64_t until_ns;     /* only entries stored before; 0: no limit */
    bool entries_only;     /* no blobs, no tuning results: implied by the selections above */
    gcache_left_out_fn left_out; /* NULL: they are only counted */
    void *state;                 /* of both */
    gcache_progress_fn progress; /* how much of the cache has been gone through; NULL: nobody watches */
} gcache_export_options;

#define GCACHE_EXPORT_OPTIONS_INIT { .size = sizeof(gcache_export_options) }

/* options and out_written may be NULL. The file appears whole or not at all. GCACHE_OK, ERROR_ARGUMENT (file is a link, a device
   or a pipe, or lies in the cache directory), ERROR_LIMIT (larger than the format
   can say), ERROR_NO_SPACE, ERROR_IO, ERROR_MEMORY. What can't be read is left out, counted and reported. */
GCACHE_API gcache_status gcache_export(gcache *cache, char const *file, gcache_export_options const *options,
                                       gcache_transfer *out_written, gcache_error *error);

/* The file's manifest: one JSON object on one line, after the whole file was verified. Freed with gcache_free.
   GCACHE_OK; ERROR_FORMAT: not an export, or of a newer version; ERROR_CORRUPT; ERROR_NOT_FOUND, ERROR_IO, ERROR_MEMORY. */
GCACHE_API gcache_status gcache_export_show(char const *file, char **out_manifest, gcache_error *error);

/* ---- import ---- */

/* Called for an artifact of the caller's kind. A negative status ends the import. */
typedef gcache_status (*gcache_artifact_fn)(void *state, char const *kind, char const *name, void const *bytes, size_t size,
                                            gcache_error *error);

/* Called for an entry whose requirement isn't met here; provided is NULL if nothing of that name is. */
typedef void (*gcache_unmet_fn)(void *state, gcache_key const *key, char const *entry, char const *name,
                                char const *required, char const *provided);

/* Called after each item. */
typedef void (*gcache_transfer_fn)(void *state, gcache_transfer const *so_far);

typedef struct gcache_import_options {
    size_t size;                 /* set by GCACHE_IMPORT_OPTIONS_INIT */
    gcache_pair const *provides; /* what this machine offers; entries' requirements are compared with it */
    size_t provides_count;
    bool check_requirements;     /* report entries that can't serve here, by unmet, and leave them out */
    gcache_unmet_fn unmet;
    gcache_artifact_fn artifact; /* NULL: artifacts of the caller's kinds are passed over */
    gcache_transfer_fn progress;
    gcache_left_out_fn left_out; /* ERROR_CORRUPT, ERROR_UNTRUSTED, ERROR_LIMIT, ERROR_ARGUMENT, ERROR_NOT_FOUND */
    void *state;                 /* of the five */
    gcache_progress_fn watch;    /* bytes of the file that have been taken over */
} gcache_import_options;

#define GCACHE_IMPORT_OPTIONS_INIT { .size = sizeof(gcache_import_options) }

/*
 * options and out_read may be NULL. GCACHE_OK; GCACHE_REFUSED: something was left out (out_read->left_out, and each was reported),
 * the rest is imported; or nothing is cached (disabled, bypass), and left_out is 0; ERROR_CORRUPT: the file is damaged or doesn't
 * hold what it says, nothing was imported; ERROR_FORMAT: not an export, or of a newer version; ERROR_READ_ONLY, ERROR_NO_SPACE,
 * ERROR_BUSY, ERROR_IO, ERROR_MEMORY: what was imported by then is good, *out_read says how much.
 */
GCACHE_API gcache_status gcache_import(gcache *cache, char const *file, gcache_import_options const *options,
                                       gcache_transfer *out_read, gcache_error *error);

#ifdef __cplusplus
}
#endif
#endif
