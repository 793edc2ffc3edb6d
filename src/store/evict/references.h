/*
 * Attachments: files that belong to entries, kept once by their SHA-256.
 *
 * Nobody keeps count of who refers to one: counters wouldn't survive crashes, and an attachment that is found again while it
 * is being collected would be lost. A collection looks through all entries and sweeps what none refers to, but nothing younger
 * than a grace period: storing one that is there makes it young. So does eviction below the cap, which also removes what only
 * its victims referred to, unless it was stored again since. Storing holds locks/attachments shared, sweeping exclusive.
 */
#ifndef GCI_STORE_EVICT_REFERENCES_H
#define GCI_STORE_EVICT_REFERENCES_H

#include "store/state/state.h"

gcache_status gci_attach_lock(gci_store *store, gci_lock_kind kind, uint64_t wait_ns, gci_file *out_lock,
                              gcache_error *error);

/* What all attachments take on disk. */
uint64_t gci_attachments_cost(gci_store *store);

/* Removes those that no entry refers to and that are older than the grace period. dry: only counts them. */
gcache_status gci_attachments_sweep(gci_store *store, bool dry, uint64_t *out_removed, gcache_error *error);

/* From storing an attachment to inserting the entry that names it is one compile: hours at most, and mostly moments. */
#define GCI_ATTACHMENT_GRACE_NS UINT64_C(21600000000000)
/* The same where room is needed. */
#define GCI_ATTACHMENT_PRESSED_NS UINT64_C(3600000000000)

/* An entry stored at since_ns needs it no more: unless it was stored again since, it has no time of grace left, and goes with
   the next sweep if no other entry needs it. */
void gci_attachment_let_go(gci_store *store, uint8_t const sha256[32], uint64_t since_ns);

/* Who refers to what, when it was looked at. */
typedef struct gci_reference {
    uint8_t sha256[32];
    size_t count;
    uint64_t newest_ns; /* when the last of those that refer to it was stored */
} gci_reference;

typedef struct gci_references {
    gci_reference *items; /* by sha256 */
    size_t count, capacity;
} gci_references;

/* Looks through all entries, those that no candidate index names included. ERROR_IO: something couldn't be read, which may
   refer to anything. Clear in any case. */
gcache_status gci_references_find(gci_store *store, gci_references *out_references, gcache_error *error);
void gci_references_clear(gci_references *references);

/* An entry that referred to an attachment is gone: the attachment goes with the last of them. Adds what became free. */
void gci_references_drop(gci_store *store, gci_references *references, uint8_t const sha256[32], uint64_t *inout_freed);

/* Removes attachments that nobody refers to and that are older than grace_ns. Adds what became free. dry: only counts. */
gcache_status gci_references_sweep(gci_store *store, gci_references const *references, uint64_t grace_ns, bool dry,
                                   uint64_t *inout_removed, uint64_t *inout_freed, gcache_error *error);

#endif
