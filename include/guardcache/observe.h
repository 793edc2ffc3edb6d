/*
 * guardcache/observe.h - what a cache has been doing: counters of a handle, statistics of the directory, the journal.
 *
 * Every miss leaves its whole story in the cache directory, so that it can be explained later, from another process, after
 * the one that missed is gone, and although the cache has changed since. Hits are counted; inserts leave what they cost.
 * A hit that a tier served is always written down.
 * The journal is bounded (the oldest entries are forgotten) and a read-only cache writes none. A miss is written before its lookup
 * returns, and so is a hit that is written down: a process that is killed loses none of it.
 *
 * Threads: as in cache.h.
 */
#ifndef GUARDCACHE_OBSERVE_H
#define GUARDCACHE_OBSERVE_H

#include <guardcache/cache.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- counters of this handle ---- */

/* name, word, what it counts since gcache_open, for this handle */
#define GCACHE_COUNTER_MAP(X)                                                                         \
    X(HITS, "hits", "lookups that hit")                                                               \
    X(SAVED_NS, "saved_ns", "what compiling the hits had taken")                                      \
    X(INSERTS, "inserts", "entries stored")                                                           \
    X(REFUSALS, "refusals", "inserts refused because their guards don't hold")                        \
    X(NOT_STORED, "not_stored", "compiled by gcache_get_or_compile, and not kept")                    \
    X(EVICTIONS, "evictions", "entries that this handle evicted")                                     \
    X(EVICTED_BYTES, "evicted_bytes", "what those took on disk")                                      \
    X(CORRUPT, "corrupt", "damaged things that it put aside")                                         \
    X(LEASES, "leases", "leases it was given")                                                        \
    X(LEASE_WAITS, "lease_waits", "how often somebody else had the lease first")

typedef enum gcache_counter {
#define X(name, word, text) GCACHE_COUNTER_##name,
    GCACHE_COUNTER_MAP(X)
#undef X
    GCACHE_COUNTER_COUNT
} gcache_counter;

/* Read a counter, or the misses for one reason (NONE: for all): no file is touched, nobody waits. 0 for an unknown one. */
GCACHE_API uint64_t gcache_counter_read(gcache *cache, gcache_counter counter);
GCACHE_API uint64_t gcache_counter_misses(gcache *cache, gcache_reason reason);

/* ---- statistics of the directory ---- */

/* name, word, meaning: how things are now */
#define GCACHE_STATISTIC_SIZE_MAP(X)                                                                  \
    X(BYTES, "bytes", "size on disk, in blocks of 4 KiB: all but index.db and the journal")           \
    X(MAX_SIZE, "max_size", "the size cap; UINT64_MAX: none")                                         \
    X(ENTRIES, "entries", "entries stored")                                                           \
    X(KEYS, "keys", "keys stored")                                                                    \
    X(MEMORY_BYTES, "memory_bytes", "taken by this handle's memory tier")                             \
    X(MEMORY_KEYS, "memory_keys", "keys in this handle's memory tier")

/* name, word, what it counts: by all processes since the directory was made */
#define GCACHE_STATISTIC_COUNTER_MAP(X)                                                               \
    X(INSERTS, "inserts", "entries stored")                                                           \
    X(DUPLICATES, "duplicates", "inserts of an entry that was there")                                 \
    X(REFUSALS, "refusals", "inserts refused for want of space or by a limit")                        \
    X(EVICTIONS, "evictions", "entries evicted")                                                      \
    X(EVICTED_BYTES, "evicted_bytes", "bytes freed by eviction")                                      \
    X(CORRUPT, "corrupt", "damaged files and records put aside")                                      \
    X(UNREADABLE, "unreadable", "reads that the operating system refused")                            \
    X(MEMORY_HITS, "memory_hits", "candidate sets served from memory")                                \
    X(DISK_READS, "disk_reads", "candidate sets read from disk")                                      \
    X(LEASE_WAITS, "lease_waits", "waits for somebody else's compile")                                \
    X(LEASE_TAKEOVERS, "lease_takeovers", "leases taken over from a dead holder")                     \
    X(ASKED_AGAIN, "asked_again", "evicted entries asked for again; one of several that left a key at once")

typedef enum gcache_statistic {
#define X(name, word, text) GCACHE_STATISTIC_##name,
    GCACHE_STATISTIC_SIZE_MAP(X)
    GCACHE_STATISTIC_COUNTER_MAP(X)
#undef X
    GCACHE_STATISTIC_COUNT
} gcache_statistic;

/* The statistics at one moment. */
typedef struct gcache_statistics gcache_statistics;

/*
 * Reads the directory's statistics. Free them with gcache_statistics_free (NULL is accepted).
 * GCACHE_OK, ERROR_ARGUMENT, ERROR_MEMORY; on a network file system also ERROR_BUSY, ERROR_IO. With options.disabled they are
 * those of the directory, if it is there; then also what gcache_open returns.
 */
GCACHE_API gcache_status gcache_statistics_read(gcache *cache, gcache_statistics **out_statistics, gcache_error *error);
GCACHE_API void gcache_statistics_free(gcache_statistics *statistics);

/* One of them; 0 for an unknown one, and of NULL. */
GCACHE_API uint64_t gcache_statistics_get(gcache_statistics const *statistics, gcache_statistic statistic);

/* ---- the journal ---- */

/* name, value in the journal, word, meaning */
#define GCACHE_JOURNAL_KIND_MAP(X)                                                                    \
    X(MISS, 1, "miss", "a lookup that missed")                                                        \
    X(HIT, 2, "hit", "a lookup that hit, and stands for some others")                                 \
    X(INSERT, 3, "insert", "an entry was stored")                                                     \
    X(NOT_STORED, 4, "not_stored", "something was compiled and not kept; text says why")                     \
    X(TAKEOVER, 5, "takeover", "a compile's lease was taken over from a process that died; text says which") \
    X(TIER, 6, "tier", "what a process has had of a tier since it last said so; tier says of which, tier_counts what")

typedef enum gcache_journal_kind {
#define X(name, value, word, meaning) GCACHE_JOURNAL_##name = value,
    GCACHE_JOURNAL_KIND_MAP(X)
#undef X
} gcache_journal_kind;

/* The word for a kind ("not_stored"), "?" if unknown. Static storage. */
GCACHE_API char const *gcache_journal_kind_name(gcache_journal_kind kind);

/* Which entries of the journal are meant. */
typedef struct gcache_journal_query {
    size_t size;          /* set by GCACHE_JOURNAL_QUERY_INIT */
    size_t last;          /* only so many, the newest; 0: all */
    uint64_t since_ns;    /* not before this, in ns since 1970 */
    char const *label;    /* only labels that contain this; NULL: all */
    char const *key;      /* only keys whose hex form begins with this; NULL: all */
    gcache_reason reason; /* only misses for this reason; NONE: all */
    bool misses_only;
    char const *namespace_; /* only of this namespace, "" is the empty one; NULL: of all */
} gcache_journal_query;

#define GCACHE_JOURNAL_QUERY_INIT { .size = sizeof(gcache_journal_query) }

/* One entry of the journal. Valid during the call; texts are "" where there is nothing to say. */
typedef struct gcache_journal_entry {
    uint64_t at_ns; /* since 1970, UTC */
    gcache_journal_kind kind;
    gcache_reason reason; /* of a miss */
    uint32_t process;
    gcache_key key;
    char const *namespace_;
    char const *graph_kind; /* "fx" */
    char const *label;    /* whose it was */
    gcache_hint_literal const *hints;
    size_t hint_count;
    char const *entry;    /* of a hit or an insert */
    uint64_t hits;        /* how many hits it stands for */
    uint64_t saved_ns;    /* what compiling those had taken */
    uint64_t elapsed_ns;  /* of a hit: what the lookup itself took; 0: not measured */
    uint64_t compile_ns;  /* of an insert, of what was not stored; of a miss: what its process compiled next for the key */
    uint64_t payload_size;
    char const *text;     /* why it was not stored, why it can't be cached, from whom it was taken over */
    gcache_pair const *sources; /* of a miss: hints in the words of the user's program */
    size_t sources_count;
    char const *why_asked;      /* of a miss: as the caller said */
    char const *tier;           /* of a hit: which served it, "memory", "local" (the directory) or its URL without credentials;
                                   of TIER: which; "": not known */
    uint64_t waited_ns;         /* of a hit or miss: how long it waited for tiers */
    uint64_t const *tier_counts; /* of TIER: GCACHE_TIER_COUNT_COUNT of them (fleet.h); else NULL */
} gcache_journal_entry;

/* Returning anything but 0 ends the iteration. */
typedef int (*gcache_journal_fn)(void *state, gcache_journal_entry const *entry);

/* Calls fn for the entries that query means (NULL: all), newest first. GCACHE_OK, ERROR_ARGUMENT, ERROR_IO, ERROR_MEMORY. */
GCACHE_API gcache_status gcache_journal_each(gcache *cache, gcache_journal_query const *query, gcache_journal_fn fn, void *state,
                                          gcache_error *error);

/*
 * Explains past misses, newest first, each as gcache_explain would have explained it then, and says what has changed
 * since: an empty line between two texts, an object a line as JSON, all on one page as HTML. *out_text is zero-terminated,
 * freed with gcache_free; *out_count (may be NULL) is how many there are. GCACHE_OK, ERROR_ARGUMENT, ERROR_IO, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_journal_explain(gcache *cache, gcache_journal_query const *query, gcache_explain_form form,
                                             char **out_text, size_t *out_count, gcache_error *error);

/* ---- statistics of the journal ---- */

typedef enum gcache_statistics_form {
    GCACHE_STATISTICS_TEXT,      /* for people */
    GCACHE_STATISTICS_JSON,      /* one object on one line */
    GCACHE_STATISTICS_PROMETHEUS /* of gcache_statistics_show only: the text format that Prometheus scrapes */
} gcache_statistics_form;

/*
 * Hit rate, misses by reason, compile time saved, retrieval times, by label and namespace, what is stored, evictions: of the
 * journal's entries that query means (NULL: all). A process writes its first 32 hits down one by one and later ones ever more
 * seldom, each for those since the last: totals are exact, hits of one label, namespace or key are then estimates.
 * What is stored and evicted is the whole directory's, whatever query means. *out_text is freed with gcache_free.
 * GCACHE_OK, ERROR_ARGUMENT, ERROR_IO, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_statistics_show(gcache *cache, gcache_journal_query const *query, gcache_statistics_form form,
                                               char **out_text, gcache_error *error);

typedef enum gcache_top_kind {
    GCACHE_TOP_MISSES, /* what costs most compile time, by key and reason */
    GCACHE_TOP_KEYS,   /* the same by key, with hits */
    GCACHE_TOP_GUARDS  /* which guards fail, and for which values */
} gcache_top_kind;

/* The `count` costliest of a kind, each with the label that most of its misses have, and with how many more labels there are;
   text or JSON. Otherwise as gcache_statistics_show.
   GCACHE_OK, ERROR_ARGUMENT, ERROR_IO, ERROR_MEMORY. */
GCACHE_API gcache_status gcache_statistics_top(gcache *cache, gcache_journal_query const *query, gcache_top_kind kind, size_t count,
                                    gcache_statistics_form form, char **out_text, gcache_error *error);

/*
 * One self-contained page of HTML, without scripts or network: what to fix first and what it costs, timeline, misses by
 * reason, the costliest misses explained, and for their keys a picture of which shapes the stored candidates serve. A section
 * that has nothing to show isn't there. *out_html is freed with gcache_free.
 * GCACHE_OK, ERROR_ARGUMENT, ERROR_IO, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_report(gcache *cache, gcache_journal_query const *query, char **out_html, gcache_error *error);

#ifdef __cplusplus
}
#endif
#endif
