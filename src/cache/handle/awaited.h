/*
 * Threads that others may be waiting for, because they hold a lease. Such a thread waits for nobody: two that waited for each
 * other, or a ring of them, would do so until their patience is over. Through whichever caches: a ring may lead through several.
 *
 * Threads: any. Fork: a child holds nothing of its parent's.
 */
#ifndef GCI_CACHE_HANDLE_AWAITED_H
#define GCI_CACHE_HANDLE_AWAITED_H

#include <pthread.h>
#include <stdbool.h>

/* One reason to wait for a thread. Begins as zeros, and has to stay where it is until its end. */
typedef struct gci_awaited {
    pthread_t thread;
    bool begun;
    struct gci_awaited *next;
} gci_awaited;

/* From here on the present thread may be waited for. Beginning twice is accepted. */
void gci_awaited_begin(gci_awaited *awaited);
/* By any thread. What hasn't begun is accepted. */
void gci_awaited_end(gci_awaited *awaited);
/* Whether the present thread may be. */
bool gci_awaited_here(void);

#endif
