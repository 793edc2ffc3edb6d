/*
 * The report: one page of HTML with pictures, without scripts and without network. html_report.c has its order; each other file
 * writes one section, and nothing where there is nothing to show.
 */
#ifndef GCI_CACHE_OBSERVE_HTML_REPORT_H
#define GCI_CACHE_OBSERVE_HTML_REPORT_H

#include "cache/observe/statistics.h"

/* Misses that are explained, of which so many are shown, and with so many the page begins: first compiles, for which nothing
   helps, are often the costliest. */
#define GCI_REPORT_EXAMINED 48
#define GCI_REPORT_COSTLY 12
#define GCI_REPORT_FIRST 3

/* Of the costliest misses: what is known about the newest of each. */
typedef struct gci_costly_miss {
    gci_group const *group;
    gci_buf explanation, gist, remedy; /* HTML; gist: its first sentence; no remedy if nothing is known to help */
} gci_costly_miss;

typedef struct gci_costly {
    gci_costly_miss misses[GCI_REPORT_EXAMINED];
    size_t count;
    size_t first[GCI_REPORT_FIRST]; /* places of those to fix first */
    size_t first_count;
} gci_costly;

/* Explains the costliest misses. Clear *out_costly whatever the outcome. ERROR_MEMORY, or what reading the journal says. */
gcache_status gci_costly_find(gcache *cache, gcache_journal_query const *query, gci_statistics const *statistics,
                              gci_costly *out_costly, gcache_error *error);
void gci_costly_clear(gci_costly *costly);

/* "Fix these three first": those for which there is an advice, with what they cost. */
void gci_report_first(gci_costly const *costly, gci_buf *out);
/* All of them, explained. */
void gci_report_costly(gci_costly const *costly, gci_buf *out);

/* What tiers did (statistics_tiers.c). */
void gci_report_tiers(gci_statistics const *statistics, gci_buf *out);

/* Hits and misses over time. ERROR_MEMORY, or what reading the journal says. */
gcache_status gci_report_timeline(gcache *cache, gcache_journal_query const *query, gci_statistics const *statistics, gci_buf *out,
                                  gcache_error *error);

/*
 * For the keys with most misses: which shapes the stored candidates cover, and where hits and misses fell. Symbols are
 * axes; every cell of the picture is decided by the candidates' own guards. ERROR_MEMORY, or what reading the journal says.
 */
gcache_status gci_report_coverage(gcache *cache, gcache_journal_query const *query, gci_statistics const *statistics, gci_buf *out,
                                  gcache_error *error);

#endif
