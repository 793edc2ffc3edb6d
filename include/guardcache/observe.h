/*
 * guardcache/observe.h - what a cache has been doing: counters of this process, and the journal of all of them.
 *
 * Every miss leaves its whole story in the cache directory, so that it can be explained later, from another process, after
 * the one that missed is gone, and although the cache has changed since. Hits are counted; inserts leave what they cost.
 * The journal is bounded (the oldest entries are forgotten) and a read-only cache writes none.
 *
 * Threads: as in cache.h.
 */
#ifndef GUARDCACHE_OBSERVE_H
#define GUARDCACHE_OBSERVE_H

#include <guardcache/cache.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- this process ---- */

/* Counted since gcache_open, for this handle. */
typedef struct gcache_counters {
    uint64_t hits;
    uint64_t misses[GCACHE_REASON_COUNT]; /* by reason */
    uint64_t inserts;
    uint64_t refusals;   /* inserts refused because their guards don't hold */
    uint64_t not_stored; /* compiled by gcache_get_or_compile, and not kept */
    uint64_t saved_ns;   /* what compiling the hits had taken */
    uint64_t evictions;  /* entries that this handle evicted, and what they took on disk */
    uint64_t evicted_bytes;
    uint64_t corrupt;    /* damaged things that it put aside */
    uint64_t leases, lease_waits; /* leases it was given; how often somebody else had the lease first */
} gcache_counters;

/* Reads the counters: no file is touched, nobody waits. */
GCACHE_API void gcache_counters_read(gcache *cache, gcache_counters *out_counters);

/* ---- the journal ---- */

/* name, value in the journal, word, meaning */
#define GCACHE_ACT_MAP(X)                                                                             \
    X(MISS, 1, "miss", "a lookup that missed")                                                        \
    X(HIT, 2, "hit", "a lookup that hit, and stands for some others")                                 \
    X(INSERT, 3, "insert", "an entry was stored")                                                     \
    X(NOT_STORED, 4, "not_stored", "something was compiled and not kept; text says why")                     \
    X(TAKEOVER, 5, "takeover", "a compile's lease was taken over from a process that died; text says which")

typedef enum gcache_act {
#define X(name, value, word, meaning) GCACHE_ACT_##name = value,
    GCACHE_ACT_MAP(X)
#undef X
} gcache_act;

/* The word for an act ("not_stored"), "?" if unknown. Static storage. */
GCACHE_API char const *gcache_act_name(gcache_act act);

/* Which entries of the journal are meant. */
typedef struct gcache_past_query {
    int version;          /* GCACHE_PAST_QUERY_VERSION */
    size_t last;          /* only so many, the newest; 0: all */
    uint64_t since_ns;    /* not before this, in ns since 1970 */
    char const *label;    /* only labels that contain this; NULL: all */
    char const *key;      /* only keys whose hex form begins with this; NULL: all */
    gcache_reason reason; /* only misses for this reason; NONE: all */
    bool misses_only;
} gcache_past_query;

#define GCACHE_PAST_QUERY_VERSION 1
#define GCACHE_PAST_QUERY_INIT { .version = GCACHE_PAST_QUERY_VERSION }

/* One entry of the journal. Valid during the call; texts are "" where there is nothing to say. */
typedef struct gcache_past {
    uint64_t at_ns; /* since 1970, UTC */
    gcache_act act;
    gcache_reason reason; /* of a miss */
    uint32_t process;
    gcache_key key;
    char const *space;    /* the namespace */
    char const *kind;     /* "fx" */
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
} gcache_past;

/* Returning anything but 0 ends the iteration. */
typedef int (*gcache_past_fn)(void *state, gcache_past const *past);

/* Calls fn for the entries that query means (NULL: all), newest first. GCACHE_OK, ERROR_ARGUMENT, ERROR_IO, ERROR_MEMORY. */
GCACHE_API gcache_status gcache_each_past(gcache *cache, gcache_past_query const *query, gcache_past_fn fn, void *state,
                                          gcache_error *error);

/*
 * Explains past misses, newest first, each as gcache_explain would have explained it then, and says what has changed
 * since: an empty line between two texts, an object a line as JSON. *out_text is zero-terminated, freed with gcache_free;
 * *out_count (may be NULL) is how many there are. GCACHE_OK, ERROR_ARGUMENT, ERROR_IO, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_explain_past(gcache *cache, gcache_past_query const *query, gcache_explain_form form,
                                             char **out_text, size_t *out_count, gcache_error *error);

/* ---- sums ---- */

typedef enum gcache_sums_form {
    GCACHE_SUMS_TEXT,      /* for people */
    GCACHE_SUMS_JSON,      /* one object on one line */
    GCACHE_SUMS_PROMETHEUS /* of gcache_sums only: the text format that Prometheus scrapes */
} gcache_sums_form;

/*
 * Hit rate, misses by reason, compile time saved, retrieval times, by label and namespace, what is stored, evictions: of the
 * journal's entries that query means (NULL: all). A process writes its first 32 hits down one by one and later ones ever more
 * seldom, each for those since the last: sums of all are exact, hits of one label, namespace or key are then estimates.
 * *out_text is freed with gcache_free.
 * GCACHE_OK, ERROR_ARGUMENT, ERROR_IO, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_sums(gcache *cache, gcache_past_query const *query, gcache_sums_form form, char **out_text,
                                      gcache_error *error);

typedef enum gcache_top_kind {
    GCACHE_TOP_MISSES, /* what costs most compile time, by key and reason */
    GCACHE_TOP_KEYS,   /* the same by key, with hits */
    GCACHE_TOP_GUARDS  /* which guards fail, and for which values */
} gcache_top_kind;

/* The `count` costliest of a kind; text or JSON. Otherwise as gcache_sums. */
GCACHE_API gcache_status gcache_top(gcache *cache, gcache_past_query const *query, gcache_top_kind kind, size_t count,
                                    gcache_sums_form form, char **out_text, gcache_error *error);

/*
 * One self-contained page of HTML, without scripts or network: timeline, misses by reason, the costliest misses explained,
 * and for their keys a picture of which shapes the stored candidates serve. *out_html is freed with gcache_free.
 * GCACHE_OK, ERROR_ARGUMENT, ERROR_IO, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_report(gcache *cache, gcache_past_query const *query, char **out_html, gcache_error *error);

#ifdef __cplusplus
}
#endif
#endif
