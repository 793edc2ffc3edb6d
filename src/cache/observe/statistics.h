/*
 * Statistics of the journal: what stats, top and the report show.
 *
 * Groups are kept by a text (a label, a key, a guard) in the order they were met first; everything lives in one arena.
 */
#ifndef GCI_CACHE_OBSERVE_STATISTICS_H
#define GCI_CACHE_OBSERVE_STATISTICS_H

#include "cache/journal/history.h"

/* Retrieval times by decades: below 1 us, 10 us, ... 1 s, and above. */
#define GCI_TIME_BUCKETS 8
/* Values that are remembered with a failing guard: enough to see a pattern. */
#define GCI_GROUP_VALUES 6

/* How much of a group is of one label. */
typedef struct gci_labelled {
    gci_view label;
    uint64_t misses, hits;
    struct gci_labelled *next;
} gci_labelled;

typedef struct gci_group {
    gci_view name;
    gci_view kind;        /* of the entry met first: the newest */
    gcache_reason reason; /* likewise, of its misses */
    gci_view label;       /* that most of its misses have, without misses most of its hits; "" if none has one */
    gci_labelled *labelled, *leading; /* all its labels, the last met first; the one above */
    size_t label_count;
    uint64_t unlabelled;  /* its misses without a label */
    gcache_key key;
    uint64_t hits, misses;
    uint64_t saved_ns, cost_ns; /* what compiling the hits had taken; what compiling the misses took */
    uint64_t newest_ns;
    gci_view values[GCI_GROUP_VALUES];
    size_t value_count;
} gci_group;

typedef struct gci_groups {
    gci_group *items;
    size_t count, room;
} gci_groups;

/* Who served hits: "memory", "local", a tier. */
typedef struct gci_tier_sum {
    gci_view name;
    uint64_t served, saved_ns; /* hits, and what compiling them had taken */
    bool is_counted;           /* some process wrote what it had of it: */
    uint64_t counts[GCACHE_TIER_COUNT_COUNT];
} gci_tier_sum;

typedef struct gci_tier_sums {
    gci_tier_sum *items;
    size_t count, room;
} gci_tier_sums;

typedef struct gci_statistics {
    gci_arena arena;
    uint64_t hits, saved_ns, inserts, not_stored, cost_ns;
    uint64_t misses[GCACHE_REASON_COUNT];
    uint64_t times[GCI_TIME_BUCKETS], timed, time_sum_ns; /* of hits that were measured */
    uint64_t oldest_ns, newest_ns;                        /* of the journal's entries; 0 without any */
    gci_groups labels, spaces, keys, misses_by_cost, guards; /* labels and spaces don't tell labels of their own apart */
    gci_tier_sums tiers;
    gci_view label;   /* of the entry that is being added, as `labels` has it: equal ones are in one place */
    bool with_guards; /* groups of guards are wanted: every miss has to be explained for them */
    bool failed;
} gci_statistics;

/* The upper end of a bucket of `times`; UINT64_MAX for the last. */
uint64_t gci_time_bucket_end(size_t bucket);

/* Adds up what query means (NULL: everything). Clear *out_statistics whatever the outcome. */
gcache_status gci_statistics_collect(gcache *cache, gcache_journal_query const *query, bool with_guards,
                                     gci_statistics *out_statistics, gcache_error *error);
void gci_statistics_clear(gci_statistics *statistics);

/* Misses for any reason. */
uint64_t gci_statistics_misses(gci_statistics const *statistics);

/* 0 of nothing. */
double gci_percent(uint64_t part, uint64_t whole);

/* What a group is called: by its label, without one by its kind of graph. */
gci_view gci_group_name(gci_group const *group);
/* What that leaves unsaid: " and 2 more labels, 5 unlabelled", or nothing. */
void gci_group_write_others(gci_group const *group, gci_buf *out);

/* statistics_tiers.c: an entry added; tiers in the order in which they are shown; and as text, nothing where no tier is known. */
void gci_statistics_add_tier(gci_statistics *statistics, gci_journal_entry const *entry);
void gci_statistics_sort_tiers(gci_statistics *statistics);
void gci_statistics_write_tiers(gci_statistics const *statistics, gci_buf *out);
void gci_statistics_write_tiers_json(gci_statistics const *statistics, gci_buf *out);
void gci_statistics_write_tiers_prometheus(gci_statistics const *statistics, gci_buf *out);

/* Costliest first, then most misses. */
void gci_groups_sort(gci_groups *groups);

#endif
