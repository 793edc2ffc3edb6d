/*
 * What a key was computed from, as a frame: in the candidate index if it is small, else in a file of its own.
 * docs/formats/candidate-index.md has the byte table.
 */
#ifndef GCI_STORE_FORMAT_DESCRIBE_H
#define GCI_STORE_FORMAT_DESCRIBE_H

#include "base/error.h"
#include "base/fields.h"
#include "store/format/entry.h"
#include "store/format/frame.h"

/* A description's limit is 128 MiB of JSON; its canonical form is smaller. */
#define GCI_DESCRIPTION_MAX ((size_t)256 << 20)

/* One that was read: owns what it points to. */
typedef struct gci_stored_description gci_stored_description;
gci_description const *gci_stored_description_get(gci_stored_description const *description);
void gci_stored_description_free(gci_stored_description *description);

/* Appends the whole frame, payload and padding included. */
gcache_status gci_description_write(gcache_key const *key, gci_description const *description, gci_buf *out,
                                    gcache_error *error);

/* Reads such a frame. *out is freed with gci_stored_description_free. */
gcache_status gci_description_read(gcache_key const *key, gci_view bytes, gci_stored_description **out,
                                   gcache_error *error);

/* The same of a frame that was read, whosever it is. */
gcache_status gci_description_take(gci_frame const *frame, gcache_key *out_key, gci_stored_description **out,
                                   gcache_error *error);

extern gci_fields const gci_description_fields;

#endif
