/*
 * Where processes of a job meet: a value under a name, said once and for all. Who says a second one gets the first.
 *
 * The place is the first tier that can share values, so that hosts meet; without one, and beside it for the processes of this
 * host, it is the directory. While that tier is in trouble the hosts don't meet; those of one host still do.
 */
#ifndef GCI_CACHE_COMPILE_MEETING_H
#define GCI_CACHE_COMPILE_MEETING_H

#include "base/digest.h"
#include "base/fields.h"
#include "cache/handle/cache.h"

/* What a value is called: a hash. */
typedef uint8_t gci_meeting_name[GCI_SHA256_BYTES];

/* Reads a value. GCACHE_OK; ERROR_NOT_FOUND: nobody has said it yet, or a tier can't be asked; ERROR_CORRUPT, ERROR_IO,
   ERROR_MEMORY. */
gcache_status gci_meeting_read(gcache *cache, gci_meeting_name const name, size_t most, gci_buf *out_value, gcache_error *error);

/* Says one, or learns what was said: out_value has it. GCACHE_OK; ERROR_READ_ONLY, ERROR_NO_SPACE, ERROR_CORRUPT, ERROR_IO,
   ERROR_MEMORY. */
gcache_status gci_meeting_say(gcache *cache, gci_meeting_name const name, gci_view value, gci_buf *out_value,
                              gcache_error *error);

extern gci_fields const gci_share_fields;

#endif
