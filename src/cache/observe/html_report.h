/*
 * The report: one page of HTML with pictures, without scripts and without network.
 */
#ifndef GCI_CACHE_OBSERVE_HTML_REPORT_H
#define GCI_CACHE_OBSERVE_HTML_REPORT_H

#include "cache/observe/statistics.h"

/*
 * For the keys with most misses: which shapes the stored candidates cover, and where hits and misses fell. Symbols are
 * axes; every cell of the picture is decided by the candidates' own guards. ERROR_MEMORY, or what reading the journal says.
 */
gcache_status gci_report_coverage(gcache *cache, gcache_journal_query const *query, gci_statistics const *statistics, gci_buf *out,
                                  gcache_error *error);

#endif
