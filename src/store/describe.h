/*
 * What a key was computed from, as a frame: in the candidate index if it is small, else in a file of its own.
 * docs/formats/candidate-index.md has the byte table.
 */
#ifndef GCI_STORE_DESCRIBE_H
#define GCI_STORE_DESCRIBE_H

#include "base/fields.h"
#include "store/frame.h"
#include "store/inside.h"

/* Appends the whole frame, payload and padding included. */
gcache_status gci_description_write(gcache_key const *key, gci_description const *description, gci_buf *out,
                                    gcache_error *error);

/* Reads such a frame. *out is freed with gci_stored_description_free. */
gcache_status gci_description_read(gcache_key const *key, gci_view bytes, gci_stored_description **out,
                                   gcache_error *error);

/* What index.db knows a component by: equal numbers stand for components equal in kind, name and content. */
uint64_t gci_component_number(gci_view kind, gci_component const *component);

extern gci_fields const gci_description_fields, gci_component_item;

#endif
