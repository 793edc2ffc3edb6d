/*
 * Counter deltas of an entry, kept in front of the caller's metadata in the record:
 *
 *      metadata as stored = 89 'G' 'C' 'D' 'E' 'L' 'T' 0a, count (4), (name: length and bytes, value: 8)*, metadata
 *
 * An entry without deltas is stored as the metadata alone, unless that begins with the same eight bytes.
 */
#ifndef GCI_CACHE_CANDIDATES_DELTAS_H
#define GCI_CACHE_CANDIDATES_DELTAS_H

#include "base/arena.h"
#include "base/buf.h"

#include <guardcache/cache.h>

/* Appends what is stored for an entry's metadata and deltas. */
void gci_write_metadata(gci_buf *out, gcache_entry const *entry);

/* Takes it apart: the metadata stays where it is, deltas go to the arena. Bytes that only look like deltas are metadata. */
void gci_read_metadata(gci_view stored, gci_arena *arena, gci_view *out_metadata, gcache_delta const **out_deltas,
                       size_t *out_count);

#endif
