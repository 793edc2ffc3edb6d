/*
 * An open store, put together from parts that know nothing of it.
 *
 * Locks, and the order in which one thread takes them (never against it):
 *  1. the evict lock (locks/evict): one evictor, collector or repairer at a time;
 *  2. a key's lock (locks.h): one writer of a key's files at a time; then that of its folder's pools;
 *  3. the segment's lock (event_log.h): shared to append, exclusive to empty it;
 *  4. the index lock (index.h): one writer or checkpointer of index.db at a time;
 *  5. the attachments' lock (references.h): shared to store one, exclusive to sweep; never while waiting for 1;
 *  6. the lock of the generation table's process slots (usage.h); likewise that of a turn at tables.db (tables.c), by itself;
 *  7. mutexes inside one process, each within one file.
 * All waits for locks that other processes hold are bounded.
 *
 * Publishing an entry (commit.c) and taking one back (evict.c):
 *  1. An entry file is complete, synced and under its final name before the candidate index names it.
 *  2. The generation of the key's slot is odd while its candidate index changes, even otherwise; odd means don't cache.
 *  3. A frame in the candidate index is the commit. Rows in index.db follow; they can be lost and rebuilt.
 *  4. Eviction first replaces the frame by an EVICTED one, then removes the entry file: a file that isn't there means
 *     evicted.
 *  5. What takes the place of an equal entry is written before the old one goes (renewal.h).
 */
#ifndef GCI_STORE_STATE_STATE_H
#define GCI_STORE_STATE_STATE_H

#include "base/check.h"
#include "base/system/file.h"
#include "store/database/event_log.h"
#include "store/database/index.h"
#include "store/database/journal_file.h"
#include "store/directory/paths.h"
#include "store/directory/shard.h"
#include "store/directory/trust.h"
#include "store/memory/memory.h"
#include "store/processes/counter_list.h"
#include "store/processes/lease_list.h"
#include "store/processes/locks.h"
#include "store/processes/shared.h"
#include "store/state/options.h"
#include "store/state/usage.h"

#include <fcntl.h>
#include <pthread.h>

struct gci_store {
    gci_dir directory;
    gci_owners owners;   /* whose files are trusted: `directory` points to it */
    gci_owners unsigned_owners; /* the same for what carries no signature: nobody else's where everybody is trusted */
    _Atomic uint64_t trusted_shards[4]; /* a bit a folder of entries/ that was looked at */
    gci_store_options options; /* owned copies; defaults filled in */
    _Atomic(char const *) network; /* as gci_store_network says, "" for none; NULL: nobody has asked yet */
    bool read_only;
    bool format_is_damaged; /* and wasn't made anew */
    gci_fork_mark fork;
    gci_shared shared;
    gci_usage usage;
    gci_memory memory;
    gci_key_locks locks;
    _Atomic uint64_t emptier_pools[4]; /* a bit a folder of entries/ in whose pools something went */
    _Atomic uint64_t absent_pools[256]; /* a word a folder: its pools that lookups found absent (gci_pool_look) */
    gci_segment segment;
    gci_journal journal;
    gci_index index;
    gci_leases leases;
    _Atomic uint64_t checked_ns; /* when gci_check_time last did what is due */
    _Atomic uint64_t touched_ns; /* when hits were last written out */
    _Atomic uint32_t uncounted;  /* inserts, where sizes aren't shared */
    _Atomic uint64_t counts[GCI_COUNT_COUNT]; /* not yet added to the shared ones */
    pthread_mutex_t touch_mutex;
    gci_buf touches;             /* hits of sets that left the memory tier */
    char *name;                  /* the directory's absolute path */
    bool initialised;              /* the parts below `directory` were initialised */
    _Atomic bool warm;           /* gci_store_warm_up was done */
    pthread_mutex_t warming;
    _Atomic pid_t process;       /* that opened the store, or asked it while nothing was shared */
    _Atomic uint32_t forks;      /* how often it turned out to be in a forked child */
    _Atomic bool asked;          /* the first lookup has been made */
};

/*
 * Every public function begins with this, but a handle's first lookup (gci_store_candidates): it maps what processes share,
 * when that is first needed, and in a forked child replaces what must not be shared with the parent.
 */
void gci_store_enter_slowly(gci_store *store);

/* What entering begins with, and a handle's first lookup, as long as nothing is shared: is this a forked child? */
void gci_store_notice_process(gci_store *store);

static inline void
gci_store_enter(gci_store *store)
{
    if (!atomic_load_explicit(&store->warm, memory_order_acquire) || gci_fork_mark_is_child(&store->fork))
        gci_store_enter_slowly(store);
}

/* A line for people, through the caller's log function. */
void gci_store_log(gci_store *store, char const *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * What was written through a handle is acknowledged only if the directory still has its name: what others open there is
 * another cache, or none. One stat beside a sync. GCACHE_OK or ERROR_IO.
 */
gcache_status gci_store_check_place(gci_store const *store, gcache_error *error);

/* ERROR_UNTRUSTED: a folder on the way to the key's files isn't trusted. OK if one isn't there. */
gcache_status gci_trust_key(gci_store *store, gcache_key const *key, gcache_error *error);

/* The cache directory for what carries no signature. */
gci_dir gci_trust_unsigned(gci_store *store);

/* The network file system the directory lies on, or NULL: whoever maps or locks something asks. */
char const *gci_store_network(gci_store *store);

/* ERROR_READ_ONLY, or OK. */
gcache_status gci_store_check_writable(gci_store const *store, gcache_error *error);

void gci_store_count(gci_store *store, gci_store_counter counter, uint64_t more);
/* What all processes have counted, as far as it is known here. */
uint64_t gci_store_counted(gci_store const *store, gci_store_counter counter);
void gci_store_flush_counts(gci_store *store);

#endif
