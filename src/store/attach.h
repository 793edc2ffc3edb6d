/*
 * Attachments: files that belong to entries, kept once by their SHA-256.
 *
 * Nobody counts who refers to one: counters wouldn't survive crashes, and an attachment that is found again while it is
 * being collected would be lost. A collection marks what entries refer to and sweeps the rest, but nothing younger than
 * a grace period: storing one that is there makes it young. Storing holds locks/attachments shared, sweeping exclusive.
 */
#ifndef GCI_STORE_ATTACH_H
#define GCI_STORE_ATTACH_H

#include "store/inside.h"

/* With the random suffix of a temporary file it stays below what file systems take. */
#define GCI_ATTACHMENT_NAME_MAX 1024

gcache_status gci_attach_lock(gci_store *store, gci_lock_kind kind, uint64_t wait_ns, gci_file *out_lock,
                              gcache_error *error);

/* What all attachments take on disk. */
uint64_t gci_attachments_cost(gci_store *store);

/* Removes those that no entry refers to and that are older than the grace period. dry: only counts them. */
gcache_status gci_attachments_sweep(gci_store *store, bool dry, uint64_t *out_removed, gcache_error *error);

/* Calls fn for the SHA-256 of every stored attachment; anything but 0 ends it. */
typedef int (*gci_attachment_fn)(void *state, uint8_t const sha256[32], struct stat const *facts);
gcache_status gci_attachments_each(gci_store *store, gci_attachment_fn fn, void *state, gcache_error *error);

#endif
