/*
 * guardcache/share.h - several processes of one job: values that one tells the others, and handles for workers.
 *
 * In a job of many processes that compile the same program, some results must be the same everywhere (a profile, the outcome
 * of autotuning): one process, the leader, tells its value, the others wait for it. Which one leads is for the job to
 * decide (the one with the lowest device, say). For binaries there is gcache_compile_options.follow.
 *
 * The meeting place is the first tier that can share values (gcache_options.tiers), and beside it the cache directory: without such
 * a tier it must be one that all of them see.
 *
 * Threads and processes: as in cache.h. A follower waits in the calling thread, with no lock held.
 */
#ifndef GUARDCACHE_SHARE_H
#define GUARDCACHE_SHARE_H

#include <guardcache/cache.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gcache_share {
    size_t size;          /* set by GCACHE_SHARE_INIT */
    char const *job;      /* the run that the value belongs to: another run doesn't see it; the same text in all processes */
    char const *name;     /* what is shared: "profile of jit_step" */
    bool leader;
    void const *value;    /* the leader's; others give none */
    size_t value_size;
    uint64_t timeout_ns;  /* how long to wait for the leader; 0: GCACHE_SHARE_TIMEOUT_DEFAULT_NS */
} gcache_share;

#define GCACHE_SHARE_INIT { .size = sizeof(gcache_share) }

/* As long as for a compile (GCACHE_LEASE_TIMEOUT_DEFAULT_NS): the leader may be at one first. */
#define GCACHE_SHARE_TIMEOUT_DEFAULT_NS (UINT64_C(1200) * 1000000000)
/* Profiles and tables, not binaries. */
#define GCACHE_SHARE_BYTES_MAX ((size_t)64 << 20)

/*
 * Tells or learns a value. A handle remembers it, so that asking again costs nothing and gives the same, whatever has
 * become of the file; who tells a second value under one name gets the first one back. *out_value is freed with gcache_free.
 * GCACHE_OK; ERROR_BUSY: the leader said nothing in time; with gcache_options.strict ERROR_CORRUPT: what it said is damaged;
 * ERROR_READ_ONLY: a leader can't tell; ERROR_LIMIT, ERROR_ARGUMENT, ERROR_NO_SPACE, ERROR_IO, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_share_value(gcache *cache, gcache_share const *share, void **out_value, size_t *out_size,
                                            gcache_error *error);

/* ---- handles for workers ---- */

/*
 * A handle's state as text: directory and options, but no open files and no callbacks. For worker processes that were
 * not forked. Tiers are in it by their URLs, but for those whose URLs have credentials, and those of the program's own: neither
 * belongs into a text that others may read. *out_text is freed with gcache_free. GCACHE_OK, ERROR_NOT_FOUND (the directory
 * is gone), ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_handle_save(gcache *cache, char **out_text, gcache_error *error);

/*
 * Opens the cache that a saved handle stands for. listeners gives what a text can't hold: the callbacks (log, event), the
 * signing keys and user_tiers of the new handle, and tiers, which then counts instead of the URLs in the text (a process has
 * URLs with credentials from its own settings; those that are missing are told to log); its other members don't count;
 * NULL: none.
 * GCACHE_OK, ERROR_SYNTAX, ERROR_FORMAT (of a newer version), and what gcache_open returns.
 */
GCACHE_API gcache_status gcache_handle_open(char const *text, gcache_options const *listeners, gcache **out_cache,
                                            gcache_error *error);

#ifdef __cplusplus
}
#endif
#endif
