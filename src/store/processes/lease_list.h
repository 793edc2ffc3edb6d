/*
 * The leases that this process holds (store/lease.h), as a list: to find a thread that would wait for itself, and what a forked
 * child must close.
 */
#ifndef GCI_STORE_PROCESSES_LEASE_LIST_H
#define GCI_STORE_PROCESSES_LEASE_LIST_H

#include "base/system/file.h"
#include "store/directory/paths.h"

#include <pthread.h>

typedef struct gci_store gci_store;
typedef struct gci_lease gci_lease;

struct gci_lease {
    gci_store *store;
    gci_path path;
    gci_file file;
    pthread_t thread;
    uint8_t about[sizeof(gcache_key)]; /* how the name begins: of a compile, with the key */
    bool handed_over; /* to a thread that waits for nobody */
    gci_file awaited; /* while waiting: the present holder's */
    bool others_stored; /* one of those that were waited for did */
    size_t others_ended; /* so many that were waited for didn't */
    uint64_t former;  /* process of the holder that died with it; 0: nobody did */
    gci_lease *next;
};

typedef struct gci_leases {
    pthread_mutex_t mutex; /* guards the list */
    gci_lease *held;
} gci_leases;

void gci_leases_init(gci_leases *leases);
void gci_leases_close(gci_leases *leases);
/* Closes the parent's files and forgets them. */
void gci_leases_after_fork(gci_leases *leases);

void gci_leases_join(gci_leases *leases, gci_lease *lease);
void gci_leases_leave(gci_leases *leases, gci_lease *lease);

/* Whether this thread holds the lease of that file. */
bool gci_leases_have(gci_leases *leases, gci_path const *path);

/* The next lease on the key that this thread holds, behind `lease`; NULL: the first. By the holder of the mutex. */
gci_lease *gci_leases_next(gci_leases const *leases, gci_lease const *lease, gcache_key const *key);

#endif
