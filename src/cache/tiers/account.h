/*
 * What tiers have been doing, written to the journal for the statistics of the directory: each process says now and then, and when
 * it closes the cache, what it has had of each tier since it last said so.
 *
 * Invariants:
 *  1. told <= counts, per tier and count, and what lies between isn't in the journal yet. It is taken by an atomic exchange, so
 *     that of several threads each writes what is new to it.
 *  2. What a forked child inherits is its parent's to write.
 */
#ifndef GCI_CACHE_TIERS_ACCOUNT_H
#define GCI_CACHE_TIERS_ACCOUNT_H

#include "cache/tiers/tiers.h"

/* So much is lost of a process that is killed. */
#define GCI_ACCOUNT_EACH_NS (UINT64_C(120) * 1000000000)

/* Before a tier is asked. */
void gci_account_begin(gcache *cache);
/* After it was asked: writes what is new if the last time was long ago. */
void gci_account_go_on(gcache *cache);
/* Writes what is new. The store is open. */
void gci_account_end(gcache *cache);

/* A gci_tier_changed_fn: a line in the log, and an event. state is the cache. */
void gci_account_changed(void *state, char const *line);

#endif
