/*
 * What a cache counts, in memory that its processes share.
 */
#ifndef GCI_STORE_PROCESSES_COUNTER_LIST_H
#define GCI_STORE_PROCESSES_COUNTER_LIST_H

#include <guardcache/observe.h>

/* The public list. They outlive the process. */
typedef enum gci_store_counter {
#define X(name, word, text) GCI_COUNT_##name,
    GCACHE_STATISTIC_COUNTER_MAP(X)
#undef X
    GCI_COUNT_COUNT
} gci_store_counter;

#endif
