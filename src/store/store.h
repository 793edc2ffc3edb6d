/*
 * The face of the store: entries on disk, found by key. Nobody outside src/store includes any other header of it.
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

#include "base/buf.h"
#include "base/error.h"
#include "base/view.h"

#include <guardcache/cache.h>
#include <guardcache/house.h>
#include <guardcache/key.h>

#include <stdatomic.h>
#include <stdint.h>

typedef struct gci_store gci_store;

/* ---- opening ---- */

/* Entries are signed with the first key and accepted with any. */
typedef struct gci_signing_key {
    char const *id; /* at most 63 bytes; stored in clear in every entry */
    gci_view secret;
} gci_signing_key;

/* What the store does by itself. Told by the thread that does it, which may hold locks. */
typedef enum gci_news_kind {
    GCI_NEWS_EVICTED, /* key, entries, bytes and cause are set */
    GCI_NEWS_CORRUPT  /* text is set */
} gci_news_kind;

typedef struct gci_news {
    gci_news_kind kind;
    gcache_key const *key;
    uint64_t entries, bytes;
    int cause;        /* as in gci_tombstone */
    char const *text; /* what was put aside, and why */
} gci_news;

typedef void (*gci_news_fn)(void *state, gci_news const *news);

typedef struct gci_store_options {
    bool read_only;
    gcache_durability durability;
    uint64_t max_bytes;     /* of the directory; 0: default, UINT64_MAX: none */
    bool renew;             /* an insert that equals an entry takes its place, as the newest of its key */
    /* What the cache's own setting says, UINT64_MAX if it says nothing: a cache that is larger than max_bytes by more than a
       tenth is shrunk on this word only. NULL: max_bytes is it */
    uint64_t (*own_cap)(char const *directory);
    size_t memory_bytes;    /* for decoded sets and payloads; 0: default */
    int compression_level;  /* -1: raw; 0: default */
    size_t max_candidates;  /* a key; 0: default */
    uint64_t max_age_ns;    /* entries unused for longer are evicted by gc; 0: none */
    char const *space;      /* the namespace new entries are labelled with; NULL: "" */
    gci_signing_key const *signing; /* borrowed during open */
    size_t signing_count;
    bool require_signature; /* entries that no key verifies are not handed out */
    gcache_trust trust;     /* whose files are read */
    bool network;           /* treat the directory as one on a network file system even if it isn't */
    gcache_log_fn log;
    void *log_state;
    gci_news_fn news;       /* may be NULL */
    void *news_state;
} gci_store_options;

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

/* ---- records ---- */

typedef struct gci_pair {
    gci_view name, value;
} gci_pair;

/* A named file that belongs to an entry, kept once by content. */
typedef struct gci_attachment {
    gci_view name;      /* a relative path without "..", as the caller wants it placed */
    uint8_t sha256[32];
    uint64_t size;
    uint32_t mode;      /* permission bits: 0644 or 0755 */
} gci_attachment;

typedef enum gci_compression {
    GCI_RAW = 0,
    GCI_ZSTD = 1
} gci_compression;

/*
 * Everything about one candidate but its payload. For an insert the caller fills in what isn't marked; views are
 * borrowed during the call. In a set, everything is set and points into the set.
 */
typedef struct gci_record {
    gcache_key key;
    char id[GCACHE_ENTRY_ID_SIZE]; /* store: derived from the content, so that equal inserts are one */
    gci_view kind;
    gci_view space;                /* the namespace label; NULL at insert: the store's */
    gci_view const *guards;
    size_t guard_count;
    gci_view program;              /* the guards compiled, as the guard engine wrote it */
    gci_pair const *names;         /* the producer's symbol -> canonical symbol */
    size_t name_count;
    gci_pair const *requirements;
    size_t requirement_count;
    gci_view variant;
    int64_t priority;
    uint32_t equalities, conjuncts; /* specificity */
    uint64_t sequence;             /* store: newer is larger, within the key */
    uint64_t created_ns;           /* 0 at insert: now */
    uint64_t compile_ns;
    gci_view label;
    gci_view metadata;
    gci_view identity;             /* stands for the payload's content in the id; empty: the payload itself */
    gci_attachment const *attachments;
    size_t attachment_count;
    gcache_delta const *deltas;    /* of the compiler's counters */
    size_t delta_count;
    uint64_t payload_size;         /* store: as the caller gave it */
    uint64_t stored_size;          /* store: payload bytes on disk */
    gci_compression compression;   /* store */
} gci_record;

/* ---- what was found ---- */

typedef enum gci_found {
    GCI_FOUND,
    GCI_ABSENT,     /* nothing is stored */
    GCI_EVICTED,    /* it was stored and has been evicted */
    GCI_CORRUPT,    /* damaged; put aside, counted and logged */
    GCI_UNREADABLE, /* the operating system said no, no memory, or no key of ours verifies it: the error says which */
    GCI_RENEWED     /* of a payload: its entry was renewed since its candidates were read, which are to be read again */
} gci_found;

/* Something of the caller's that hangs on a run or set of candidates and is freed with it. Set once, by any thread. */
typedef struct gci_extra {
    _Atomic(void *) value;
    void (*_Atomic destroy)(void *value);
} gci_extra;

static inline void *
gci_extra_get(gci_extra *extra)
{
    return atomic_load_explicit(&extra->value, memory_order_acquire);
}

/* What memory is charged to that hangs on something. Private. */
typedef struct gci_account gci_account;

typedef struct gci_run gci_run;

typedef struct gci_candidate {
    gci_record record;
    gci_run *run;
    bool is_evicted;
    uint64_t evicted_ns;     /* of an evicted candidate: when */
    struct gci_candidate_place *place; /* private */
} gci_candidate;

/* Candidates that were read in one go, evicted ones too. The sets of a key that follow each other share runs. */
struct gci_run {
    gci_candidate *items;
    size_t count;
    gci_extra extra;
    gci_account *account;
    struct gci_run_inside *inside; /* private */
};

typedef struct gci_candidates gci_candidates;

/*
 * All candidates of a key, in order of sequence. Immutable but for the extra and the private parts. Evicted ones are
 * those whose record is still remembered though their payload is gone: they tell why a lookup misses, no more.
 */
struct gci_candidates {
    gcache_key key;
    gci_candidate **items;
    size_t count;
    gci_candidate **evicted;
    size_t evicted_count;
    gci_run **runs;          /* that hold them, in the same order */
    size_t run_count;
    size_t damaged;          /* records that were put aside while reading */
    size_t untrusted;        /* records that no signing key of ours verifies, and that is required */
    gci_extra extra;
    gci_account *account;
    struct gci_candidates_inside *inside; /* private */
};

/*
 * The key's candidates. *out_set is counted: release it. FOUND with at least one item, or with evicted or damaged ones;
 * ABSENT, EVICTED, CORRUPT, UNREADABLE: *out_set is NULL.
 */
gci_found gci_store_candidates(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error);

/* The same, read from disk and kept out of the memory tier: for those who walk over everything. */
gci_found gci_store_load(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error);

gci_candidates *gci_candidates_retain(gci_candidates *set);
void gci_candidates_release(gci_candidates *set);

/*
 * Hangs value on extra unless something hangs there already, and returns what hangs there now; a loser is destroyed.
 * cost is the memory it takes, charged to the account of what it hangs on.
 */
void *gci_extra_set(gci_extra *extra, gci_account *account, void *value, size_t cost, void (*destroy)(void *value));

/* Notes that a candidate was handed out to a user: recency and hit counts, written in batches. */
void gci_store_touch(gci_store *store, gci_candidate *candidate);

/* ---- payloads ---- */

/* Verified bytes, counted. */
typedef struct gci_payload {
    void const *data;
    size_t size;
} gci_payload;

/* FOUND, EVICTED (the entry went away meanwhile), CORRUPT or UNREADABLE. Release it. */
gci_found gci_store_payload(gci_store *store, gci_candidate *candidate, gci_payload **out_payload, gcache_error *error);
gci_payload *gci_payload_retain(gci_payload *payload);
void gci_payload_release(gci_payload *payload);

/* ---- descriptions ---- */

typedef struct gci_component {
    gci_view name;
    uint8_t hash[32];
    gci_view text; /* a line for people, of a key that somebody else computed; else empty */
} gci_component;

/* What a key was computed from. Kept once per key. */
typedef struct gci_description {
    gci_view kind;
    gci_component const *components;
    size_t component_count;
    gci_view canonical; /* the canonical form; empty for a key that somebody else computed */
} gci_description;

typedef struct gci_stored_description gci_stored_description;

/* FOUND, ABSENT, CORRUPT, UNREADABLE. What `gci_stored_description_get` points to lives as long as the object. */
gci_found gci_store_description(gci_store *store, gcache_key const *key, gci_stored_description **out_description,
                                gcache_error *error);
gci_description const *gci_stored_description_get(gci_stored_description const *description);
void gci_stored_description_free(gci_stored_description *description);

typedef struct gci_near {
    gcache_key key;
    uint32_t equal; /* components with the same hash */
} gci_near;

/* The stored keys of a kind that share most components, best first, at most `room`; those that share none are not near. */
gcache_status gci_store_nearest(gci_store *store, gci_view kind, gci_component const *components, size_t count,
                                gci_near *out_near, size_t room, size_t *out_count, gcache_error *error);

/* ---- insert ---- */

typedef struct gci_inserted {
    char id[GCACHE_ENTRY_ID_SIZE];
    uint64_t sequence;
    bool existed;  /* an equal entry was there */
    bool shadowed; /* an older entry has the same guards, names, requirements, variant and priority */
    char shadows[GCACHE_ENTRY_ID_SIZE];
} gci_inserted;

/*
 * Stores a record with its payload, and the key's description unless the key has one (description may be NULL).
 * ERROR_READ_ONLY, ERROR_NO_SPACE (nothing could be evicted), ERROR_LIMIT (too many candidates under the key, or
 * something too large), ERROR_BUSY (the key's lock is held for too long), ERROR_IO, ERROR_MEMORY. On an error nothing
 * is visible.
 */
gcache_status gci_store_insert(gci_store *store, gci_record const *record, gci_view payload,
                               gci_description const *description, gci_inserted *out_inserted, gcache_error *error);

/*
 * The same in two steps, so that many inserts share the wait for the disk: each is prepared by itself (compressed, hashed),
 * then all are committed, each with an outcome of its own. The first step touches no lock; what it is given has to stay
 * as it is until the pending insert is freed. Different threads may do the steps.
 */
typedef struct gci_pending gci_pending;

/* OK; ERROR_READ_ONLY, ERROR_LIMIT, ERROR_MEMORY: *out_pending is NULL. */
gcache_status gci_store_prepare(gci_store *store, gci_record const *record, gci_view payload,
                                gci_description const *description, gci_pending **out_pending, gcache_error *error);
void gci_store_commit(gci_store *store, gci_pending *const *pending, size_t count);
/* After the commit: what gci_store_insert would have returned. */
gcache_status gci_pending_outcome(gci_pending const *pending, gci_inserted *out_inserted, gcache_error *error);
/* NULL is accepted, and so is what wasn't committed: it isn't stored then. */
void gci_pending_free(gci_pending *pending);

/* Whether an insert waits for the disk, so that it is worth gathering several. */
bool gci_store_waits_for_disk(gci_store const *store);

/* Takes an entry out, as eviction does: its record stays remembered. ERROR_NOT_FOUND, ERROR_READ_ONLY, ERROR_FORMAT (beside
   it lie entries of a newer version: all stay), ... */
gcache_status gci_store_evict(gci_store *store, gcache_key const *key, char const *id, gcache_error *error);

/* What is known about the last eviction under a key. Times are 0 where they aren't known. */
typedef struct gci_tombstone {
    gcache_key key;
    uint64_t evicted_ns;
    uint32_t entries;       /* how many went then */
    uint32_t hits;          /* how often they had been handed out */
    enum { GCI_EVICTED_SIZE = 1, GCI_EVICTED_AGE, GCI_EVICTED_SPACE, GCI_EVICTED_BY_HAND, GCI_EVICTED_CROWD } cause;
    uint32_t left;          /* candidates that stayed under the key */
    uint64_t stored_ns;     /* when the first of those that went was stored */
    uint64_t used_ns;       /* when one of them was last used */
    uint64_t evicted_bytes; /* what the cache had evicted before, ever: as in gci_fullness */
    bool asked;             /* a lookup has missed what went */
} gci_tombstone;

/* How full the cache is, to judge by whether a larger one would have kept an entry. */
typedef struct gci_fullness {
    uint64_t bytes, max_bytes;
    uint64_t evicted_bytes;   /* ever, by all processes that have told so far */
    uint64_t least_recent_ns; /* as gci_store_least_recent_ns */
    uint64_t evictions;       /* entries, ever; and how many of them were asked for again, at least:
                                 of those that left a key together one is counted */
    uint64_t asked_again;
} gci_fullness;

/* settle: with what is still on its way to index.db, which takes longer. Never fails: what isn't known is 0. */
gci_fullness gci_store_fullness(gci_store *store, bool settle);

/* false: nothing is known. */
bool gci_store_tombstone(gci_store *store, gcache_key const *key, gci_tombstone *out_tombstone);

/* A lookup has missed what was evicted under the key. The first to say so after an eviction is counted, which is one
   write; nothing happens in a read-only cache. */
void gci_store_asked_again(gci_store *store, gcache_key const *key);

/* ---- journal ---- */

/* What a past lookup looked like, as the cache layer wrote it. The oldest are forgotten. */
#define GCI_JOURNAL_ENTRIES 10000
/* Room for a lookup's explanation of a few candidates; an append is one write. */
#define GCI_JOURNAL_BYTES_MAX ((size_t)64 << 10)

/* One write. Trouble is logged and counted, never reported: a journal must not make a lookup fail. */
bool gci_store_journal_append(gci_store *store, gci_view entry);

/* Calls fn for past entries, newest first; anything but 0 ends it. */
typedef int (*gci_journal_fn)(void *state, uint64_t at_ns, gci_view entry);
gcache_status gci_store_journal_each(gci_store *store, gci_journal_fn fn, void *state, gcache_error *error);

/* ---- looking around ---- */

/* Calls fn for every key in ascending order; anything but 0 ends it. */
typedef int (*gci_key_fn)(void *state, gcache_key const *key);
gcache_status gci_store_each_key(gci_store *store, gci_key_fn fn, void *state, gcache_error *error);

/* The key under which an entry id (or a unique beginning of one, at least 4 digits) is stored. ERROR_NOT_FOUND. */
gcache_status gci_store_find_entry(gci_store *store, char const *id, gcache_key *out_key,
                                   char out_id[GCACHE_ENTRY_ID_SIZE], gcache_error *error);

/* The public list. They outlive the process. */
typedef enum gci_store_counter {
#define X(name, word, text) GCI_COUNT_##name,
    GCACHE_COUNT_MAP(X)
#undef X
    GCI_COUNT_COUNT
} gci_store_counter;

typedef struct gci_store_stats {
    uint64_t bytes, entries, keys; /* on disk now */
    uint64_t max_bytes;
    uint64_t memory_bytes, memory_sets;
    uint64_t counters[GCI_COUNT_COUNT];
} gci_store_stats;

gcache_status gci_store_stats_get(gci_store *store, gci_store_stats *out_stats, gcache_error *error);

/* When the entry that was unused for longest was last used, or stored; 0: there is none, or index.db isn't there. settle:
   what is still on its way to index.db counts too. */
uint64_t gci_store_least_recent_ns(gci_store *store, bool settle);

/* ---- keeping house ---- */

typedef struct gci_house_options {
    gcache_problem_fn problem; /* one call a finding; calls don't overlap; may be NULL */
    void (*progress)(void *state, uint64_t done, uint64_t total); /* keys, or shards; may be NULL */
    void *state;
    int threads;               /* verify only; 0: one */
} gci_house_options;

/* Reads everything and checks files, indexes and rows against each other. Changes nothing. OK also if there are problems. */
gcache_status gci_store_verify(gci_store *store, gci_house_options const *options, gcache_verified *out_verified,
                               gcache_error *error);

typedef struct gci_repaired {
    uint64_t keys, entries;
    uint64_t quarantined; /* files and records put aside */
    uint64_t recovered;   /* entries that no index knew */
    uint64_t lost;        /* entries that an index knew and no file holds */
} gci_repaired;

/* Rebuilds candidate indexes and index.db from entry records alone; puts damaged things aside, deletes nothing. */
gcache_status gci_store_repair(gci_store *store, gci_house_options const *options, gci_repaired *out_repaired,
                               gcache_error *error);

typedef struct gci_gc_options {
    bool dry_run;
    uint64_t target_bytes;  /* evict down to this; 0: the low watermark of max_bytes */
    uint64_t max_age_ns;    /* evict what was unused for longer; 0: as the store was opened */
    char const *space;      /* evict this whole namespace; NULL: none */
    void (*victim)(void *state, gcache_key const *key, char const *id, uint64_t bytes); /* each that goes; may be NULL */
    void *state;
} gci_gc_options;

typedef struct gci_collected {
    uint64_t evicted, bytes;      /* entries */
    uint64_t attachments, stray;  /* unneeded attachments and left-over temporary files removed */
    uint64_t left_bytes;
} gci_collected;

gcache_status gci_store_gc(gci_store *store, gci_gc_options const *options, gci_collected *out_collected,
                           gcache_error *error);

/* Facts for doctor, one call each: name, value, and a warning or NULL. */
typedef void (*gci_fact_fn)(void *state, char const *name, char const *value, char const *warning);
void gci_store_facts(gci_store *store, gci_fact_fn fn, void *state);

/* ---- leases: one compiles, the others wait ---- */

typedef struct gci_lease gci_lease;

/*
 * Takes the lease called name (any bytes) or waits for it. Who gets it must look again before compiling: the holder it
 * waited for may have stored what is wanted. ERROR_BUSY: not within timeout_ns; ERROR_ARGUMENT: this thread holds it
 * already; ERROR_READ_ONLY; ERROR_IO. *out_waited tells whether somebody else held it.
 */
gcache_status gci_lease_take(gci_store *store, gci_view name, uint64_t timeout_ns, gci_lease **out_lease, bool *out_waited,
                             gcache_error *error);
/* The process that held it before and died with it; 0: it was free, or given back. */
uint64_t gci_lease_former_holder(gci_lease const *lease);
/* Its holder has stored what it is for: told to those who wait for it. NULL is accepted. */
void gci_lease_note_stored(gci_lease *lease);
/* Somebody who was waited for did. NULL is accepted. */
bool gci_lease_others_stored(gci_lease const *lease);
/* The same for all leases that this thread holds on a key: those whose names begin with it. */
void gci_leases_note_stored(gci_store *store, gcache_key const *key);
bool gci_leases_others_stored(gci_store *store, gcache_key const *key);
/* NULL is accepted. By the thread that took it, or by whomever it was handed over to. */
void gci_lease_release(gci_lease *lease);
/* The thread that took it leaves it to another: from here on it may wait for it itself. NULL is accepted. */
void gci_lease_hand_over(gci_lease *lease);

/* ---- attachments ---- */

/* Whether all of them can be put below one directory by their names. ERROR_ARGUMENT: one leads out, two are the same, or one is
   a folder in another's; ERROR_LIMIT: one is too long; ERROR_MEMORY. */
gcache_status gci_attachments_check_names(gci_attachment const *attachments, size_t count, gcache_error *error);
/* Stores bytes once, by content; fills in *out_attachment's hash and size. They are kept as long as an entry names them.
   Its name must be set: one that would lead out of a directory is ERROR_ARGUMENT. */
gcache_status gci_store_attach(gci_store *store, gci_view bytes, gci_attachment *out_attachment, gcache_error *error);
/* Reads one back, verified. FOUND, ABSENT, CORRUPT (it is put aside), UNREADABLE. */
gci_found gci_store_attachment(gci_store *store, gci_attachment const *attachment, gci_buf *out_bytes,
                               gcache_error *error);
/* Puts one in place under a directory (made if its parent is there), by reflink or copy, atomically; an equal file there is
   left alone. *out_found: what became of the stored bytes. Not GCACHE_OK although they are FOUND: the fault is the directory's,
   or the name's; ERROR_IO: the message says what is in the way. */
gcache_status gci_store_place(gci_store *store, gci_attachment const *attachment, char const *directory, gci_found *out_found,
                              gcache_error *error);

/*
 * Whether an entry's attachments are there, by their sizes: nothing is read, and without attachments nothing is asked. FOUND,
 * CORRUPT: then the entry is put aside, or RENEWED.
 */
gci_found gci_store_complete(gci_store *store, gci_candidate *candidate, gcache_error *error);
/* One of them couldn't be had: reads them all again and puts the entry aside unless they are whole by now, or it
   was renewed since it was read. CORRUPT or RENEWED. */
gci_found gci_store_discard_incomplete(gci_store *store, gci_candidate *candidate);

#endif
