/*
 * The face of the store: entries on disk, found by key. Other faces: side.h, tables.h, portable.h; src/README.md
 * says who may include what.
 *
 * A key has candidates. A candidate is a record (guards, requirements, names, ranks, metadata) and a payload. All
 * candidates of a key are handed out together, as an immutable, counted, decoded set; sets stay in memory as long as
 * nothing under their key changes and the memory bound allows. Payloads are handed out verified and stay valid whatever
 * happens to the entry afterwards.
 *
 * The store knows nothing about guards: their texts and their compiled program are bytes to it.
 *
 * Threads: a store may be used by any number of threads; sets and payloads are shared freely. Processes: any number may
 * have the directory open. Fork: a child may go on using the store; what it held before stays valid.
 */
#ifndef GCI_STORE_STORE_H
#define GCI_STORE_STORE_H

#include "store/evict/collect.h"
#include "store/index/journal.h"
#include "store/index/tombstones.h"
#include "store/index/touch.h"
#include "store/insert/pending.h"
#include "store/lease.h"
#include "store/turn.h"
#include "store/processes/counter_list.h"
#include "store/read/read.h"
#include "store/repair/repair.h"

/* The same path, wherever the process goes. NULL: no memory, or nobody knows where we are. Free it. */
char *gci_store_absolute_path(char const *path);

/*
 * Opens a directory, making it if need be (unless read_only). An existing cache in a place that can't be written to is
 * opened as if read_only had been set, and the log says so.
 * ERROR_FORMAT: of a newer version; ERROR_UNTRUSTED: the directory is none that options.trust accepts; ERROR_NOT_FOUND:
 * read_only and not there; ERROR_READ_ONLY, ERROR_NO_SPACE, ERROR_IO: can't be made; ERROR_ARGUMENT: exists and is no
 * cache and not empty.
 */
gcache_status gci_store_open(char const *directory, gci_store_options const *options, gci_store **out_store,
                             gcache_error *error);
/* Writes out what is pending. Sets and payloads stay valid. NULL is accepted. */
void gci_store_close(gci_store *store);

bool gci_store_is_read_only(gci_store const *store);
bool gci_store_requires_signature(gci_store const *store);
/* The process, which may be a forked child. No system call once the store is in use. */
pid_t gci_store_process(gci_store *store);
/* How often calls found themselves in a forked child, so far. */
uint32_t gci_store_forks(gci_store const *store);

typedef struct gci_store_stats {
    uint64_t bytes, entries, keys; /* on disk now */
    uint64_t max_size;
    uint64_t memory_bytes, memory_sets;
    uint64_t counters[GCI_COUNT_COUNT];
} gci_store_stats;

gcache_status gci_store_stats_get(gci_store *store, gci_store_stats *out_stats, gcache_error *error);

/* How full the cache is, to judge by whether a larger one would have kept an entry. */
typedef struct gci_fullness {
    uint64_t bytes, max_size;
    uint64_t evicted_bytes;   /* ever, by all processes that have reported so far */
    uint64_t least_recent_ns; /* as gci_store_least_recent_ns */
    uint64_t evictions;       /* entries, ever; and how many of them were asked for again, at least:
                                 of those that left a key together one is counted */
    uint64_t asked_again;
} gci_fullness;

/* settle: with what is still on its way to index.db, which takes longer. Never fails: what isn't known is 0. */
gci_fullness gci_store_fullness(gci_store *store, bool settle);

/* Facts for doctor, one call each: name, value, and a warning or NULL. */
typedef void (*gci_fact_fn)(void *state, char const *name, char const *value, char const *warning);
void gci_store_facts(gci_store *store, gci_fact_fn fn, void *state);

#endif
