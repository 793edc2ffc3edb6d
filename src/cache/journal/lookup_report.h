/*
 * Every lookup's beginning and end are reported to the counters, the listener and the journal. One pair of calls around
 * whatever the caller regards as one lookup.
 */
#ifndef GCI_CACHE_JOURNAL_LOOKUP_REPORT_H
#define GCI_CACHE_JOURNAL_LOOKUP_REPORT_H

#include "cache/journal/journal_writer.h"

typedef struct gci_lookup_report {
    gci_ended ended;        /* result and elapsed_ns are set at the end */
    gci_lane_numbers *lane;
    uint64_t start_ns;      /* 0: nobody wants to know how long it takes */
    gci_missed missed;      /* for the journal */
} gci_lookup_report;

/* graph, hints and request may be NULL. What the lookup is to set when it misses; NULL if no journal is kept. */
gci_missed *gci_lookup_begin(gci_lookup_report *lookup, gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                            gcache_request const *request);

/* status and *result are the lookup's. An error leaves nothing behind. */
void gci_lookup_end(gci_lookup_report *lookup, gcache_status status, gcache_result const *result);

/* Journals the hits that no entry stands for yet: before the store is closed. */
void gci_lookups_close(gcache *cache);

#endif
